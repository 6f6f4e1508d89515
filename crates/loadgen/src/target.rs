//! The relay that is measured.

use crate::socket::{Address, AddressError};

/// The relay that is measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its URL, for reports.
    pub url: String,
    /// Its address.
    pub address: Address,
    /// Its process, if it runs on this machine: only read in `/proc`, for what it spends.
    pub pid: Option<u32>,
}

impl Target {
    /// A relay at a `ws://` URL.
    pub fn new(url: &str, pid: Option<u32>) -> Result<Self, AddressError> {
        Ok(Self { url: url.into(), address: Address::resolve(url)?, pid })
    }
}
