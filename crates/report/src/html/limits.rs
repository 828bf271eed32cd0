//! A kernel's limits: its occupancy, and the modelled time of each part of the card.

use super::number::{first_letter_up, percent, rate};
use crate::explain::limits::{doubt, in_order, occupancy, speed_of_light};
use maud::{Markup, html};
use record::{Counted, DeviceInfo, Times};

/// Occupancy and limits of a launch, whose whole time says how sure their order is.
pub(super) fn render(device: &DeviceInfo, counted: &Counted, whole: Option<&Times>) -> Markup {
    let order = in_order(&counted.modelled_us);
    let longest = order.first().map_or(1.0, |(_, time)| *time);
    html! {
        p.occupancy { strong { "Occupancy. " } (first_letter_up(&occupancy(counted, device))) }
        @if !order.is_empty() {
            p.limits { strong { "Limits in order, modelled. " } (first_letter_up(&speed_of_light(&counted.modelled_us))) "."
                @if let Some(doubt) = doubt(&counted.modelled_us, whole) { " " (doubt) } }
            div { table.bars.modelled.small role="table" {
                caption { "Modelled time of each part of the card, " (device.plain_name()) }
                tbody role="rowgroup" { @for (name, time) in &order {
                    tr role="row" {
                        th scope="row" role="rowheader" { (name) }
                        td.track role="cell" {
                            span.bar style={"width:" (format!("{:.2}", 100.0 * time / longest)) "%"} data-part=(name) data-y=(time) {}
                        }
                        td.value role="cell" { (rate(*time)) " µs" }
                        td.part role="cell" { (percent(time / longest)) }
                    }
                } }
            } }
        }
    }
}
