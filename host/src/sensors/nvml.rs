//! One card's sensors by NVML.

use cust::device::{Device as CudaDevice, DeviceAttribute};
use nvml_wrapper::{
    Device, Nvml,
    bitmasks::device::ThrottleReasons,
    enum_wrappers::device::{Clock, TemperatureSensor},
    error::NvmlError,
};
use record::Limit;

/// A card by its place on the PCI bus, which CUDA and NVML both know; their numbers of devices differ.
#[derive(Debug)]
pub(super) struct Card {
    nvml: Nvml,
    /// The driver's version.
    pub driver: String,
    address: String,
}

impl Card {
    /// The card that is CUDA's device of this number.
    ///
    /// # Errors
    /// NVML is not there, or the driver does not tell where the card is.
    pub(super) fn of_device(ordinal: u32) -> Result<Card, String> {
        let nvml = Nvml::init().map_err(|error| match error {
            NvmlError::LibloadingError(error) => format!("NVML cannot be loaded: {error}"),
            error => format!("NVML does not start: {error}"),
        })?;
        let unknown = |error| format!("the driver does not tell where the card is on the bus: {error}");
        let device = CudaDevice::get_device(ordinal).map_err(unknown)?;
        let attribute = |attribute| device.get_attribute(attribute).map_err(unknown);
        let address = format!(
            "{:08x}:{:02x}:{:02x}.0",
            attribute(DeviceAttribute::PciDomainId)?,
            attribute(DeviceAttribute::PciBusId)?,
            attribute(DeviceAttribute::PciDeviceId)?,
        );
        let driver = nvml.sys_driver_version().unwrap_or_else(|_| "of an unknown version".to_string());
        Ok(Card { nvml, driver, address })
    }

    /// The card's sensors.
    ///
    /// # Errors
    /// NVML does not know the card.
    pub(super) fn reader(&self) -> Result<Reader<'_>, String> {
        let device = self.nvml.device_by_pci_bus_id(self.address.as_str());
        device.map(Reader).map_err(|error| format!("NVML does not know the card {}: {error}", self.address))
    }
}

/// Reads a card's sensors. A reading is `None` where the card lacks the sensor or does not answer.
#[derive(Debug)]
pub(super) struct Reader<'n>(Device<'n>);

impl Reader<'_> {
    /// The clock of the multiprocessors.
    pub(super) fn sm_clock_mhz(&self) -> Option<f64> {
        self.0.clock_info(Clock::SM).ok().map(f64::from)
    }

    /// The clock of device memory.
    pub(super) fn memory_clock_mhz(&self) -> Option<f64> {
        self.0.clock_info(Clock::Memory).ok().map(f64::from)
    }

    /// The temperature of the GPU.
    pub(super) fn temperature_c(&self) -> Option<f64> {
        self.0.temperature(TemperatureSensor::Gpu).ok().map(f64::from)
    }

    /// The power that the card is allowed, in watts.
    pub(super) fn power_limit_w(&self) -> Option<f64> {
        self.0.enforced_power_limit().ok().map(|milliwatts| f64::from(milliwatts) / 1e3)
    }

    /// The energy that the card has used, in millijoules.
    pub(super) fn energy_mj(&self) -> Option<u64> {
        self.0.total_energy_consumption().ok()
    }

    /// What holds the clock of the multiprocessors down now.
    pub(super) fn limits(&self) -> Vec<Limit> {
        limits(self.0.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE))
    }
}

/// The limits among NVML's reasons, which have an idle card and the clock of a display besides.
fn limits(reasons: ThrottleReasons) -> Vec<Limit> {
    let any = |of: ThrottleReasons| reasons.intersects(of);
    [
        (any(ThrottleReasons::SW_POWER_CAP), Limit::PowerCap),
        (
            any(ThrottleReasons::SW_THERMAL_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN),
            Limit::Temperature,
        ),
        (any(ThrottleReasons::HW_SLOWDOWN), Limit::HardwareSlowdown),
        (any(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN), Limit::PowerBrake),
        (any(ThrottleReasons::APPLICATIONS_CLOCKS_SETTING), Limit::ClockSetting),
        (any(ThrottleReasons::SYNC_BOOST), Limit::SyncBoost),
    ]
    .into_iter()
    .filter_map(|(holds, limit)| holds.then_some(limit))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_named_by_what_limits() {
        assert_eq!(limits(ThrottleReasons::NONE), []);
        assert_eq!(limits(ThrottleReasons::GPU_IDLE | ThrottleReasons::DISPLAY_CLOCK_SETTING), []);
        let both = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::SW_THERMAL_SLOWDOWN;
        assert_eq!(limits(both), [Limit::PowerCap, Limit::Temperature]);
        let slowdown = ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert_eq!(limits(slowdown), [Limit::Temperature, Limit::HardwareSlowdown]);
    }
}
