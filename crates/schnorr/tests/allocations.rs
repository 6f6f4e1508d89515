//! A batch allocates its answer and nothing else, once buffers have grown.
#![allow(unsafe_code, reason = "an allocator cannot be written otherwise")]

mod adversary;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use zeolite_schnorr::{Backend, Verifier};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_batch_allocates_its_verdicts() {
    let items = adversary::plain(&mut ChaCha8Rng::seed_from_u64(1), 300);
    for backend in [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available()) {
        let verifier = Verifier::with_backend(1000, backend);
        for len in [300, 200, 50, 10] {
            verifier.verify_batch(&items[..len]);
        }
        for len in [300, 200, 50, 10] {
            let before = ALLOCATIONS.get();
            let verdicts = verifier.verify_batch(&items[..len]);
            assert_eq!(ALLOCATIONS.get() - before, 1, "{backend:?}, {len} items");
            assert!(verdicts.iter().all(|good| *good));
        }
    }
}
