//! The program from outside: its commands on real stores, its exit codes, its output.

mod admin;
mod archive;
mod beside;
mod configuration;
mod crash;
mod delete;
mod import;
mod limits;
mod remote;
mod retention;
mod round_trip;
mod support;
