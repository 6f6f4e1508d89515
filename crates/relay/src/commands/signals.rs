//! Interruption of a command by the user.

use std::thread;

use anyhow::Context;
use crossbeam_channel::{Receiver, bounded};

/// The exit code of a process that a second signal stops.
const EXIT_CODE: i32 = 130;

/// Ends when the first SIGINT or SIGTERM comes: the receiver is disconnected then. A second
/// signal ends the process at once.
pub(crate) fn stop_signal() -> anyhow::Result<Receiver<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot prepare for signals")?;
    let (sender, receiver) = bounded::<()>(0);
    let (ready, is_ready) = bounded(1);
    let body = move || {
        runtime.block_on(async move {
            use tokio::signal::unix::{SignalKind, signal};
            let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
            let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
            let _ = ready.send(());
            let mut next = async || {
                tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            };
            next().await;
            drop(sender);
            next().await;
            std::process::exit(EXIT_CODE);
        });
    };
    thread::Builder::new().name("signals".to_owned()).spawn(body)?;
    is_ready.recv().context("cannot listen for signals")?;
    Ok(receiver)
}
