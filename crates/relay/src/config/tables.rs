//! Arrays of tables in the file, `[[mirror]]` and the like: each has keys of its own.

use super::form::Given;

/// One key of such a table, whose entries are read into a `Draft`.
pub(crate) struct TableKey<Draft> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) set: fn(&mut Draft, &Given) -> Result<(), String>,
    pub(crate) show: fn(&Draft) -> Option<String>,
    pub(crate) accepts: fn() -> String,
}

macro_rules! table_keys {
    (
        $(#[$doc:meta])* $keys:ident: $draft:ty;
        $($name:literal $field:ident = $form:expr; $help:literal)+
    ) => {
        $(#[$doc])*
        pub(crate) const $keys: &[$crate::config::tables::TableKey<$draft>] =
            &[$($crate::config::tables::TableKey {
                name: $name,
                help: $help,
                set: |draft, given| {
                    draft.$field = $form.read(given)?;
                    Ok(())
                },
                show: |draft| $form.show(&draft.$field),
                accepts: || $form.accepts(),
            }),+];
    };
}

pub(super) use table_keys;
