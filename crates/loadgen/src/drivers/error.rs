//! Why a scenario could not run to its end.

use crate::corpus::CorpusError;
use crate::socket::SocketError;

/// Why a scenario could not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// A connection failed.
    #[error("{0}")]
    Socket(#[from] SocketError),
    /// A write failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The corpus could not be read.
    #[error("{0}")]
    Corpus(#[from] CorpusError),
    /// Of several sockets this one failed.
    #[error("socket {number}: {error}")]
    Member {
        /// Its number, from 0.
        number: usize,
        /// What happened.
        error: SocketError,
    },
    /// The relay refused a subscription, with its words.
    #[error("the relay refused {what}: {text}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The relay's words.
        text: String,
    },
    /// The relay does not know the verb, or never answers it.
    #[error("the relay does not answer {0}")]
    Unsupported(&'static str),
    /// The system has not enough descriptors.
    #[error("{wanted} sockets are wanted, the limit on open files allows {allowed}")]
    Descriptors {
        /// How many the scenario needs.
        wanted: usize,
        /// How many there may be.
        allowed: usize,
    },
    /// The arguments make no sense together.
    #[error("{0}")]
    Spec(String),
    /// A program that had to run did not.
    #[error("{0}")]
    Program(String),
}
