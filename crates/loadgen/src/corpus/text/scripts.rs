//! The syllables that words are made of.

/// How words of a script are built.
pub(super) struct Script {
    /// How many of a hundred authors write it.
    pub(super) weight: u32,
    pub(super) syllables: &'static [&'static str],
    /// Most syllables in a word.
    pub(super) syllables_max: u32,
    /// Stands between words.
    pub(super) joiner: &'static str,
}

/// Latin first; the weights add up to a hundred.
pub(super) const SCRIPTS: &[Script] = &[
    Script {
        weight: 58,
        syllables: &[
            "a", "the", "in", "re", "to", "er", "an", "on", "al", "it", "con", "de", "is", "en",
            "ti", "com", "ed", "ly", "pro", "ing", "ra", "mo", "ta", "bit", "ne", "st", "or", "no",
            "ver", "li", "me", "and", "ter", "for", "ma", "per", "ex", "un", "ment", "di", "lo",
            "be", "ple", "tion", "wa", "sa", "ca", "vi", "ge", "po",
        ],
        syllables_max: 4,
        joiner: " ",
    },
    Script {
        weight: 12,
        syllables: &[
            "é", "ção", "ñ", "ü", "de", "la", "que", "ei", "sch", "ß", "un", "ö", "ê", "ver", "es",
            "os", "ar", "mi", "ño", "ça", "ão", "le", "ge", "ten", "für", "às", "ou", "il", "ä",
            "ro", "ta", "en",
        ],
        syllables_max: 4,
        joiner: " ",
    },
    Script {
        weight: 6,
        syllables: &[
            "при", "вет", "ко", "но", "на", "по", "ст", "ре", "ло", "му", "да", "то", "не", "за",
            "ка", "ра", "ве", "ть", "ся", "ли", "го", "ов", "ий", "ё", "щи", "ды",
        ],
        syllables_max: 4,
        joiner: " ",
    },
    Script {
        weight: 9,
        syllables: &[
            "に", "の", "は", "を", "が", "で", "と", "日", "本", "人", "今", "見", "行", "ます",
            "です", "した", "か", "ら", "ノ", "ス", "トル", "ー", "イン", "リ", "レ", "語", "早",
            "眠", "い", "笑",
        ],
        syllables_max: 4,
        joiner: "",
    },
    Script {
        weight: 4,
        syllables: &[
            "的", "一", "是", "不", "了", "在", "人", "有", "我", "他", "这", "中", "大", "来",
            "上", "国", "个", "到", "说", "们", "为", "子", "和", "你", "地", "出", "道", "时",
        ],
        syllables_max: 3,
        joiner: "",
    },
    Script {
        weight: 3,
        syllables: &[
            "안", "녕", "하", "세", "요", "비", "트", "코", "인", "나", "는", "이", "다", "에",
            "서", "를", "고", "가", "지", "사", "람", "오", "늘", "좋",
        ],
        syllables_max: 3,
        joiner: " ",
    },
    Script {
        weight: 3,
        syllables: &[
            "ال", "سل", "ام", "من", "في", "على", "ما", "هو", "كا", "نا", "لا", "يا", "تو", "رس",
            "بي", "دي", "حا", "قا",
        ],
        syllables_max: 3,
        joiner: " ",
    },
    Script {
        weight: 2,
        syllables: &[
            "न",
            "म",
            "स्ते",
            "है",
            "का",
            "की",
            "में",
            "से",
            "को",
            "ह",
            "मा",
            "रा",
            "या",
            "ता",
            "भा",
            "र",
            "त",
            "ली",
        ],
        syllables_max: 3,
        joiner: " ",
    },
    Script {
        weight: 2,
        syllables: &[
            "ส",
            "วั",
            "ส",
            "ดี",
            "ค",
            "รับ",
            "ไม่",
            "ได้",
            "ที่",
            "มา",
            "กา",
            "ร",
            "เป็น",
            "ให้",
            "นี้",
            "คน",
        ],
        syllables_max: 4,
        joiner: "",
    },
    Script {
        weight: 1,
        syllables: &["ש", "ל", "ום", "את", "ה", "של", "לא", "מה", "כי", "אני", "ב", "ים", "ות"],
        syllables_max: 3,
        joiner: " ",
    },
];

/// Of one and of several code points, below and above U+FFFF.
pub(super) const EMOJI: &[&str] = &[
    "😀",
    "😂",
    "🔥",
    "🤙",
    "⚡",
    "❤️",
    "🫡",
    "👀",
    "🚀",
    "🧡",
    "☕",
    "👍🏽",
    "👨‍👩‍👧",
    "🇯🇵",
    "✅",
    "💜",
];
