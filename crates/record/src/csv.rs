//! CSV: one line a record under a header that stays the same.

use crate::{Record, flat::Row};

/// A failure to write records as CSV.
#[derive(Debug, thiserror::Error)]
#[error("a record cannot be written as CSV: {0}")]
pub struct WriteError(#[from] csv::Error);

/// The records under a header; without records, the header alone.
///
/// # Errors
/// A record cannot be written.
pub fn csv(records: &[Record]) -> Result<String, WriteError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(Row::of(record))?;
    }
    if records.is_empty() {
        writer.serialize(Row::default())?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(match (records, text.lines().next()) {
        ([], Some(header)) => format!("{header}\n"),
        _ => text.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_only_ever_grows_at_its_end() {
        let header = csv(&[]).expect("a header");
        assert_eq!(
            header,
            "schema,experiment,kernel,language,backend,device,compute_capability,driver,ptx,precision,swept,value,\
             bytes,elements,block,grid,bytes_read,bytes_written,footprint,residence,ms_median,ms_min,ms_max,samples,\
             gb_per_s,percent_of_peak,percent_of_copy,verified,ratio_to_reference,method,launches_per_sample,\
             peak_gb_per_s,copy_gb_per_s,copy_bytes,note,device_ordinal,memory_bytes,l2_bytes,multiprocessors,\
             max_threads_per_block,max_grid,memory_clock_khz,memory_bus_bits,peak_source,selector,bound,\
             warp_instructions,load_requests,load_sectors,load_lines,load_bytes_requested,load_bytes_moved,\
             store_requests,store_sectors,store_lines,store_bytes_requested,store_bytes_moved,atomic_requests,\
             l2_sectors_read,l2_sectors_written,dram_bytes,shared_wavefronts,shared_wavefronts_ideal,\
             constant_replays,branches,divergent_branches,gflop_per_s,arithmetic_intensity,parameters,explanation,\
             ratio_low,ratio_high,reference,load,sm_clock_mhz,memory_clock_mhz,temperature_c,limited_by,\
             power_limit_w,power_w,metered_s,launch_j,picojoules_per_flop,operation,operations,ns_per_operation,\
             gop_per_s,cycles,ms_low,ms_high,run,rank,ranks,host,uuid,pass,passes,version,per_clock\n"
        );
    }
}
