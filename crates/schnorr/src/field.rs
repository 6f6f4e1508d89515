//! The field of the curve's coordinates, as k256 implements it.
//!
//! k256 reduces lazily: each value has a *magnitude* that sums add up and products bring back to 1.
//! Values that are kept (in points) have magnitude 1; comments state what intermediate values
//! reach. In builds with debug assertions k256 checks every magnitude, so that tests do as well.

use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::{FieldBytes, Secp256k1};

/// An element of the field of p = 2^256 - 2^32 - 977 elements.
pub(crate) type Fe = <Secp256k1 as FieldArithmetic>::FieldElement;

/// Reads a big-endian number below p.
pub(crate) fn parse(bytes: &[u8; 32]) -> Option<Fe> {
    Fe::from_bytes(&FieldBytes::from(*bytes)).into()
}

/// Big-endian, below p.
pub(crate) fn bytes(value: &Fe) -> [u8; 32] {
    value.to_bytes().into()
}

pub(crate) fn is_zero(value: &Fe) -> bool {
    value.normalizes_to_zero().into()
}

/// One over a value of any magnitude; `None` for zero.
pub(crate) fn invert(value: &Fe) -> Option<Fe> {
    value.invert_vartime().into()
}
