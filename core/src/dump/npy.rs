//! Tensors as NumPy's `.npy`, version 1.0.

use super::types::DataType;

/// What NumPy calls the type; `None` where elements are smaller than a byte or unknown to it.
fn descr(dtype: DataType) -> Option<&'static str> {
    Some(match dtype {
        DataType::Float => "<f4",
        DataType::Float16 => "<f2",
        DataType::Double => "<f8",
        DataType::Int8 | DataType::Qint8 => "|i1",
        DataType::Uint8 | DataType::Quint8 => "|u1",
        DataType::Int16 | DataType::Qint16 => "<i2",
        DataType::Uint16 | DataType::Quint16 => "<u2",
        DataType::Int32 | DataType::Qint32 => "<i4",
        DataType::Uint32 => "<u4",
        DataType::Int64 => "<i8",
        DataType::Uint64 => "<u8",
        DataType::Bool => "|b1",
        DataType::Complex64 => "<c8",
        DataType::Complex128 => "<c16",
        _ => return None,
    })
}

/// The file. Types that NumPy does not have, and bytes that do not fill the shape, are written as a
/// vector of bytes.
pub fn npy(dtype: DataType, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let fits = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim)).and_then(|n| dtype.bytes(n));
    let (descr, shape) = match descr(dtype).filter(|_| fits == Some(bytes.len() as u64)) {
        Some(descr) => (descr, shape.to_vec()),
        None => ("|u1", vec![bytes.len() as u64]),
    };
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", dims.join(", "));
    // Magic, version and length are 10 bytes; data begins at a multiple of 64.
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut file = Vec::with_capacity(10 + header.len() + bytes.len());
    file.extend_from_slice(b"\x93NUMPY\x01\x00");
    // At most 65,536 dimensions are ever read; a header beyond 64 KiB falls back to plain bytes.
    let Ok(length) = u16::try_from(header.len()) else {
        return npy(DataType::Uint8, &[bytes.len() as u64], bytes);
    };
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(bytes);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_numpy_reads() {
        let file = npy(DataType::Float, &[2, 3], &[0; 24]);
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let header = std::str::from_utf8(&file[10..128]).expect("text");
        assert_eq!(header.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        assert_eq!(file.len(), 128 + 24);
        let dims = |dtype, shape: &[u64], bytes: usize| {
            let file = npy(dtype, shape, &vec![0; bytes]);
            String::from_utf8_lossy(&file[10..128]).trim_end().to_owned()
        };
        assert!(dims(DataType::Double, &[], 8).contains("'<f8', 'fortran_order': False, 'shape': ()"));
        assert!(dims(DataType::Int8, &[5], 5).contains("(5,)"));
        assert!(dims(DataType::Bf16, &[4], 8).contains("'|u1', 'fortran_order': False, 'shape': (8,)"));
        assert!(dims(DataType::Float, &[4], 8).contains("'|u1', 'fortran_order': False, 'shape': (8,)"));
    }
}
