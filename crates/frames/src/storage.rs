//! Places for tables: on a heap, or in memory that the embedder lends before there is a heap.

use core::marker::PhantomData;
use core::ops::DerefMut;

/// A place for tables.
pub trait Storage {
    /// A table of `T`, of a length that does not change.
    type Of<T: Copy + 'static>: DerefMut<Target = [T]>;
}

/// Tables on the heap.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct Heap;

#[cfg(feature = "alloc")]
impl Storage for Heap {
    type Of<T: Copy + 'static> = alloc::vec::Vec<T>;
}

/// Tables in memory lent for `'s`.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'s>(PhantomData<&'s mut ()>);

impl<'s> Storage for Lent<'s> {
    type Of<T: Copy + 'static> = &'s mut [T];
}

/// Place of tables unless a type says otherwise: on the heap, if there is one.
#[cfg(feature = "alloc")]
pub type Usual = Heap;
/// Place of tables unless a type says otherwise: in memory lent for ever, as there is no heap.
#[cfg(not(feature = "alloc"))]
pub type Usual = Lent<'static>;
