//! Fields of counters that there are several of: each value stands beside the end of its name, so that none takes another's.

/// Fields of a counter of zones: `value` of every kind, under the name of the kind.
macro_rules! by_zone {
    ($field:ident, $name:literal, $value:expr) => {{
        let value = $value;
        [
            $field(concat!($name, "_dma"), value(ZoneKind::Dma)),
            $field(concat!($name, "_dma32"), value(ZoneKind::Dma32)),
            $field(concat!($name, "_normal"), value(ZoneKind::Normal)),
            $field(concat!($name, "_movable"), value(ZoneKind::Movable)),
        ]
    }};
}

/// Fields of a counter of LRU pages: `value` of either type.
macro_rules! by_type {
    ($field:ident, $name:literal, $value:expr) => {{
        let value = $value;
        [$field(concat!($name, "_anon"), value(LruType::Anon)), $field(concat!($name, "_file"), value(LruType::File))]
    }};
}

/// Fields of LRU lists: `value` of every list.
macro_rules! by_list {
    ($field:ident, $name:literal, $value:expr) => {{
        let value = $value;
        [
            $field(concat!($name, "_inactive_anon"), value(LruList::InactiveAnon)),
            $field(concat!($name, "_active_anon"), value(LruList::ActiveAnon)),
            $field(concat!($name, "_inactive_file"), value(LruList::InactiveFile)),
            $field(concat!($name, "_active_file"), value(LruList::ActiveFile)),
            $field(concat!($name, "_unevictable"), value(LruList::Unevictable)),
        ]
    }};
}

pub(crate) use {by_list, by_type, by_zone};
