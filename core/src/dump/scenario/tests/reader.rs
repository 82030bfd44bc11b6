//! A reader of dump files written from the format's description alone (ge-dump spec §9.3): no code
//! is shared with the writer, not even protobuf's.

/// One tensor of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TensorOf {
    pub(super) dtype: u64,
    pub(super) shape: Vec<u64>,
    pub(super) data: Vec<u8>,
    /// Before fusion: name, output index, type, format. Outputs only.
    pub(super) original: Option<(String, u64, u64, u64)>,
}

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) op_name: String,
    pub(super) inputs: Vec<TensorOf>,
    pub(super) outputs: Vec<TensorOf>,
    pub(super) buffers: Vec<usize>,
    pub(super) workspaces: Vec<Vec<u8>>,
    /// Microseconds.
    pub(super) time: u64,
}

/// A field: its number and what it holds.
enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().expect("a varint");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => fields.push(Field::Number(key >> 3, varint(&mut bytes))),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                fields.push(Field::Bytes(key >> 3, value));
                bytes = rest;
            }
            other => panic!("wire type {other} is not in the format"),
        }
    }
    fields
}

fn number(bytes: &[u8], wanted: u64) -> u64 {
    let of = |field: &Field<'_>| match field {
        Field::Number(number, value) if *number == wanted => Some(*value),
        _ => None,
    };
    fields(bytes).iter().find_map(of).unwrap_or(0)
}

fn text(bytes: &[u8], wanted: u64) -> String {
    let of = |field: &Field<'_>| match field {
        Field::Bytes(number, value) if *number == wanted => String::from_utf8(value.to_vec()).ok(),
        _ => None,
    };
    fields(bytes).iter().find_map(of).unwrap_or_default()
}

fn dims(bytes: &[u8], wanted: u64) -> Vec<u64> {
    let mut dims = Vec::new();
    for field in fields(bytes) {
        if let Field::Bytes(number, shape) = field
            && number == wanted
        {
            for field in fields(shape) {
                match field {
                    Field::Number(1, dim) => dims.push(dim),
                    Field::Bytes(1, mut packed) => {
                        while !packed.is_empty() {
                            dims.push(varint(&mut packed));
                        }
                    }
                    _ => panic!("a shape has only dims"),
                }
            }
        }
    }
    dims
}

pub(super) fn read_file(bytes: &[u8]) -> File {
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let (header, mut data) = bytes[8..].split_at(length);
    let mut file = File {
        op_name: String::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        buffers: Vec::new(),
        workspaces: Vec::new(),
        time: 0,
    };
    let (mut inputs, mut outputs, mut buffers, mut spaces) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for field in fields(header) {
        match field {
            Field::Bytes(1, version) => assert_eq!(version, b"2.0"),
            Field::Number(2, time) => file.time = time,
            Field::Bytes(3, message) => outputs.push(message),
            Field::Bytes(4, message) => inputs.push(message),
            Field::Bytes(5, message) => buffers.push(message),
            Field::Bytes(6, name) => file.op_name = String::from_utf8(name.to_vec()).expect("UTF-8"),
            Field::Bytes(8, message) => spaces.push(message),
            _ => {}
        }
    }
    let mut take = |size: u64| {
        let (part, rest) = data.split_at(size as usize);
        data = rest;
        part.to_vec()
    };
    for message in inputs {
        let data = take(number(message, 5));
        file.inputs.push(TensorOf {
            dtype: number(message, 1),
            shape: dims(message, 3),
            data,
            original: None,
        });
    }
    for message in outputs {
        let data = take(number(message, 6));
        let original = fields(message).into_iter().find_map(|field| match field {
            Field::Bytes(4, of) => Some((text(of, 1), number(of, 2), number(of, 3), number(of, 4))),
            _ => None,
        });
        file.outputs.push(TensorOf { dtype: number(message, 1), shape: dims(message, 3), data, original });
    }
    for message in buffers {
        file.buffers.push(take(number(message, 3)).len());
    }
    for message in spaces {
        file.workspaces.push(take(number(message, 3)));
    }
    assert!(data.is_empty(), "8 + H + sizes is the length of the file");
    file
}
