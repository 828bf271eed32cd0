//! Parquet: a file of columns, the same as those of the CSV, with their types.

use crate::{Record, flat::Row};
use parquet::{
    basic::{ConvertedType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError as Cause,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use std::sync::Arc;

/// A failure to write records as Parquet.
#[derive(Debug, thiserror::Error)]
#[error("records cannot be written as Parquet")]
pub struct ParquetError(#[from] Cause);

/// The values of a column; `None` where a row has none.
#[derive(Debug)]
pub(crate) enum Column {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Truth(Vec<Option<bool>>),
}

impl Column {
    /// The column's type in the file.
    fn of_file(&self, name: &str) -> Result<Type, Cause> {
        let (physical, converted) = match self {
            Column::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Column::Whole(_) => (Physical::INT64, ConvertedType::NONE),
            Column::Number(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Column::Truth(_) => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    }
}

/// A type that rows have columns of.
pub(crate) trait Cell {
    /// The column of these cells.
    fn column(cells: &mut dyn Iterator<Item = &Self>) -> Column;
}

impl Cell for String {
    fn column(cells: &mut dyn Iterator<Item = &String>) -> Column {
        // An empty text stands for none, as in CSV.
        let cell = |text: &String| (!text.is_empty()).then(|| ByteArray::from(text.as_str()));
        Column::Text(cells.map(cell).collect())
    }
}

impl Cell for bool {
    fn column(cells: &mut dyn Iterator<Item = &bool>) -> Column {
        Column::Truth(cells.map(|&value| Some(value)).collect())
    }
}

impl Cell for Option<f64> {
    fn column(cells: &mut dyn Iterator<Item = &Option<f64>>) -> Column {
        Column::Number(cells.copied().collect())
    }
}

/// Counts and sizes, which are far below the largest `i64`.
macro_rules! whole {
    ($($type:ty)*) => {$(
        impl Cell for $type {
            fn column(cells: &mut dyn Iterator<Item = &$type>) -> Column {
                Column::Whole(cells.map(|&value| i64::try_from(value).ok()).collect())
            }
        }

        impl Cell for Option<$type> {
            fn column(cells: &mut dyn Iterator<Item = &Option<$type>>) -> Column {
                Column::Whole(cells.map(|value| i64::try_from((*value)?).ok()).collect())
            }
        }
    )*};
}

whole!(u32 u64 usize);

/// The records as a Parquet file, one row group of them all.
///
/// # Errors
/// A column cannot be written.
pub fn parquet(records: &[Record]) -> Result<Vec<u8>, ParquetError> {
    let columns = Row::columns(&records.iter().map(Row::of).collect::<Vec<_>>());
    let fields = columns.iter().map(|(name, column)| column.of_file(name).map(Arc::new));
    let schema = Type::group_type_builder("record").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for (_, column) in columns {
        let Some(mut out) = group.next_column()? else { break };
        /// The values that are there, and for each row whether it has one.
        fn split<T>(values: Vec<Option<T>>) -> (Vec<T>, Vec<i16>) {
            let present = values.iter().map(|value| i16::from(value.is_some())).collect();
            (values.into_iter().flatten().collect(), present)
        }
        let _ = match column {
            Column::Text(values) => {
                let (values, present) = split(values);
                out.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?
            }
            Column::Whole(values) => {
                let (values, present) = split(values);
                out.typed::<Int64Type>().write_batch(&values, Some(&present), None)?
            }
            Column::Number(values) => {
                let (values, present) = split(values);
                out.typed::<DoubleType>().write_batch(&values, Some(&present), None)?
            }
            Column::Truth(values) => {
                let (values, present) = split(values);
                out.typed::<BoolType>().write_batch(&values, Some(&present), None)?
            }
        };
        out.close()?;
    }
    let _ = group.close()?;
    Ok(writer.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{csv, load};
    use ::parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::Field,
    };
    use std::{fs, path::Path};

    /// Every cell of the file is the one of the CSV.
    #[test]
    fn a_file_holds_what_the_csv_holds() {
        let (_, records) =
            load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200")).expect("records");
        let path = std::env::temp_dir().join(format!("records-{}.parquet", std::process::id()));
        fs::write(&path, parquet(&records).expect("it is written")).expect("a temporary file");
        let file = fs::File::open(&path).expect("it is there");
        let reader = SerializedFileReader::new(file).expect("it is Parquet");
        let text = csv(&records).expect("CSV");
        let mut expected = ::csv::Reader::from_reader(text.as_bytes());
        let header = expected.headers().expect("a header").clone();
        let mut rows = 0;
        for (row, line) in reader.get_row_iter(None).expect("rows").zip(expected.records()) {
            let (row, line) = (row.expect("a row"), line.expect("a line"));
            assert_eq!(row.len(), line.len());
            for ((name, field), (column, cell)) in row.get_column_iter().zip(header.iter().zip(&line)) {
                assert_eq!(name, column);
                let same = match field {
                    Field::Null => cell.is_empty(),
                    Field::Str(text) => text == cell,
                    Field::Long(value) => cell.parse() == Ok(*value),
                    Field::Double(value) => cell.parse() == Ok(*value),
                    Field::Bool(value) => cell.parse() == Ok(*value),
                    other => panic!("{name}: {other}"),
                };
                assert!(same, "{name}: {field} is not {cell}");
            }
            rows += 1;
        }
        fs::remove_file(path).expect("it was there");
        assert_eq!((rows, records.len()), (270, 270));
    }
}
