//! The page: see the library.
#![forbid(unsafe_code)]

fn main() {
    thunkscope_web::start();
}
