//! A protocol page: its headings, what is marked below them, their tables of fields, its decisions.

/// How a table of fields begins; other tables are prose.
const FIELDS: &str = "| field |";

pub struct Page<'a> {
    pub headings: Vec<Heading<'a>>,
    decisions: Vec<u32>,
}

/// A heading of any depth, with the one it stands below.
pub struct Heading<'a> {
    pub name: &'a str,
    pub line: usize,
    depth: usize,
    section: &'a str,
    body: Vec<(usize, &'a str)>,
}

impl<'a> Page<'a> {
    pub fn read(text: &'a str) -> Self {
        let mut headings: Vec<Heading<'a>> = Vec::new();
        let (mut section, mut fenced) = ("", false);
        for (index, line) in text.lines().enumerate() {
            if line.starts_with("```") {
                fenced = !fenced;
            }
            let depth = line.chars().take_while(|char| *char == '#').count();
            let name = line[depth..].strip_prefix(' ').map(str::trim);
            if let Some(name) = name.filter(|_| depth > 0 && !fenced) {
                if depth <= 2 {
                    section = name;
                }
                headings.push(Heading {
                    name,
                    line: index + 1,
                    depth,
                    section,
                    body: Vec::new(),
                });
            } else if let Some(heading) = headings.last_mut() {
                heading.body.push((index + 1, line));
            }
        }
        let decisions = headings.iter().filter(|each| each.name == "Decisions");
        let decisions = decisions.flat_map(Heading::numbers).collect();
        Self {
            headings,
            decisions,
        }
    }

    /// The messages below every section that begins so.
    pub fn below<'s>(&'s self, section: &'s str) -> impl Iterator<Item = &'s Heading<'a>> {
        let of = move |heading: &&Heading<'_>| heading.section.starts_with(section);
        self.headings
            .iter()
            .filter(|heading| heading.depth == 3)
            .filter(of)
    }

    pub fn has(&self, name: &str) -> bool {
        self.headings.iter().any(|heading| heading.name == name)
    }

    pub fn has_section(&self, name: &str) -> bool {
        let mut sections = self.headings.iter().filter(|heading| heading.depth == 2);
        sections.any(|heading| heading.name == name)
    }

    pub fn has_below(&self, section: &str, name: &str) -> bool {
        let mut headings = self.headings.iter();
        headings.any(|heading| heading.section == section && heading.name == name)
    }

    pub fn decides(&self, number: u32) -> bool {
        self.decisions.contains(&number)
    }
}

impl<'a> Heading<'a> {
    /// Whether `**mark**: reason` stands below it.
    pub fn has_mark(&self, mark: &str) -> bool {
        let start = format!("**{mark}**:");
        let mut reasons = self
            .body
            .iter()
            .filter_map(|(_, line)| line.strip_prefix(start.as_str()));
        reasons.any(|reason| !reason.trim().is_empty())
    }

    /// The first column of its tables of fields, with the line; of `config.yolo` the first word.
    pub fn fields(&self) -> Vec<(usize, &'a str)> {
        let mut fields = Vec::new();
        let mut within = false;
        for (number, line) in &self.body {
            within = line.starts_with(FIELDS) || (within && line.starts_with('|'));
            let cell = line
                .strip_prefix("| `")
                .and_then(|rest| rest.split('`').next());
            if let Some(field) = cell.filter(|_| within) {
                fields.push((*number, field.split('.').next().unwrap_or(field)));
            }
        }
        fields
    }

    /// The numbers of its list.
    fn numbers(&self) -> Vec<u32> {
        let number = |line: &str| line.split_once(". ")?.0.parse().ok();
        let lines = self.body.iter();
        lines.filter_map(|(_, line)| number(line)).collect()
    }
}
