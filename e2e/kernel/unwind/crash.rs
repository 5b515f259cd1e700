// SPDX-License-Identifier: Apache-2.0
// crash WAY: a null pointer below generics and a closure, or a panic that aborts.
mod shelf {
    pub struct Shelf<T> {
        pub first: *const T,
    }

    impl<T: Copy> Shelf<T> {
        #[inline(never)]
        pub fn take(&self, n: usize) -> T {
            unsafe { std::ptr::read_volatile(self.first.wrapping_add(n)) }
        }
    }

    #[inline(never)]
    pub fn open(missing: Option<u32>) -> u32 {
        missing.expect("nothing on the shelf")
    }
}

#[inline(never)]
fn apply<F: Fn(usize) -> u32>(f: F) -> u32 {
    let r = f(3);
    unsafe { std::ptr::read_volatile(&r) } // std::hint::black_box is younger than Debian 12's rustc
}

fn main() {
    let shelf = shelf::Shelf::<u32> { first: std::ptr::null() };
    let r = if std::env::args().nth(1).as_deref() == Some("panic") {
        shelf::open(None)
    } else {
        apply(|n| shelf.take(n) + 1)
    };
    std::process::exit(r as i32);
}
