//! What differs between processors.

use crate::buckets::Term;
use crate::point::{Affine, Jacobian};

/// The two things that take nearly all the time of a batch. [`crate::portable`] is right by
/// inspection and on every processor; whatever else implements this is held against it in tests.
///
/// An implementation keeps its buffers, so that nothing is allocated once they have grown.
pub(crate) trait Arithmetic: Send {
    /// Writes BIP-340's `lift_x` of each x coordinate, in order.
    fn lift(&mut self, xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>);

    /// The sum of all points times their scalars.
    ///
    /// Right for any terms: equal points, opposite points, and sums that vanish on the way.
    fn sum(&mut self, terms: &[Term]) -> Jacobian;

    /// Points that took complete additions in the last sum.
    #[cfg(test)]
    fn set_aside(&self) -> usize;
}

/// The instructions that batches are verified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// k256's field, eight to fifteen nanoseconds a product. Everywhere.
    Portable,
    /// Eight products at once in AVX-512 registers, by the 52-bit multiply-add instructions
    /// (IFMA): Intel since Ice Lake (2019), AMD since Zen 4 (2022).
    Ifma,
}

impl Backend {
    /// The fastest one that this processor has.
    pub fn best() -> Self {
        if Self::Ifma.is_available() { Self::Ifma } else { Self::Portable }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => crate::ifma::Ifma::new().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Ifma => false,
        }
    }

    /// Buffers for it; the portable ones where the processor lacks it.
    pub(crate) fn arithmetic(self) -> Box<dyn Arithmetic> {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Ifma
            && let Some(ifma) = crate::ifma::Ifma::new()
        {
            return Box::new(ifma);
        }
        Box::<crate::portable::Portable>::default()
    }
}
