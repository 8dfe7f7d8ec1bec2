//! The planted corpus: realistic files with secrets and look-alikes at known positions.
//!
//! It depends only on its seed. Every secret is random and opens nothing. The ground truth is a
//! list of [`Item`]s; all other lines hold nothing worth reporting. The instances of each kind of
//! secret go to different kinds of files, so that no tool gains by knowing one language especially
//! well.

mod alphabet;
pub(crate) mod kinds;
mod look_alikes;
mod settings;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::{fs, io};

pub(crate) use alphabet::bytes;
use alphabet::{fill, pick};
use kinds::{Form, SecretKind, Token};
use look_alikes::{LookAlike, Placement};
use settings::Setting;

use crate::walk::trees::random::Random;

/// The default seed.
pub(crate) const SEED: u64 = 0x6865_6973_7420_0007;

/// Secrets of each kind.
const INSTANCES: usize = 9;

/// Items per file.
const ITEMS_PER_FILE: usize = 7;

/// Whole-line look-alikes per file.
const LINES_PER_FILE: usize = 14;

/// The ground truth about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Secret,
    LookAlike,
    /// A matter of opinion: reporting it is neither right nor wrong, and not reporting it is not a
    /// miss.
    Disputed,
}

/// Something that was planted.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Path relative to the corpus' folder.
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) lines: RangeInclusive<u64>,
    pub(crate) label: Label,
    pub(crate) kind: &'static str,
    /// The kind of file.
    pub(crate) setting: &'static str,
    /// The secret part, decoded.
    pub(crate) secret: String,
    /// The value as it stands in the file.
    pub(crate) shown: String,
}

/// The files and the items in them.
#[derive(Debug, Default)]
pub(crate) struct Corpus {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) items: Vec<Item>,
}

/// Something to plant.
struct Planned {
    label: Label,
    kind: &'static str,
    name: &'static str,
    token: Token,
    is_block: bool,
    /// The item that goes into the line before.
    partner: Option<Box<Self>>,
}

impl Corpus {
    /// Generates the corpus of a seed.
    pub(crate) fn generate(seed: u64) -> Self {
        let mut corpus = Self::default();
        let mut random = Random::new(seed);
        let mut by_setting: Vec<(Setting, Vec<Planned>)> = Vec::new();
        let mut plan = |setting: Setting, planned: Planned| match by_setting
            .iter_mut()
            .find(|(known, _)| *known == setting)
        {
            Some((_, list)) => list.push(planned),
            None => by_setting.push((setting, vec![planned])),
        };
        for (index, kind) in kinds::all().enumerate() {
            for instance in 0..INSTANCES {
                let planned = plan_secret(kind, &mut random);
                let settings = settings_of(planned.is_block);
                // Every kind starts at a different setting and takes wide steps, so that it meets
                // each setting at most once.
                plan(settings[(7 * index + 5 * instance) % settings.len()], planned);
            }
        }
        for (index, look_alike) in look_alikes::ALL.iter().enumerate() {
            if let Placement::Line(path) = look_alike.place {
                corpus.add_lines(look_alike, path, &mut random);
                continue;
            }
            for instance in 0..look_alike.count {
                let planned = plan_look_alike(look_alike, &mut random);
                let settings = settings_of(planned.is_block);
                plan(settings[(5 * index + instance) % settings.len()], planned);
            }
        }
        for (setting, mut list) in by_setting {
            shuffle(&mut list, &mut random);
            let per_file = if setting == Setting::KeyFile { 1 } else { ITEMS_PER_FILE };
            for (number, group) in list.chunks(per_file).enumerate() {
                corpus.add_file(setting, number, group, &mut random);
            }
        }
        corpus.items.sort_by(|a, b| (&a.file, a.lines.start()).cmp(&(&b.file, b.lines.start())));
        corpus
    }

    fn add_file(
        &mut self,
        setting: Setting,
        number: usize,
        group: &[Planned],
        random: &mut Random,
    ) {
        let path = setting.path(number, random);
        let (head, foot) = setting.frame();
        let mut lines: Vec<String> = head.iter().map(|line| (*line).to_owned()).collect();
        for planned in group {
            for _ in 0..random.below(4) {
                if setting != Setting::KeyFile {
                    let (name, value) = FILLERS[random.below(FILLERS.len())];
                    lines.push(setting.line(name, value, random));
                }
            }
            if let Some(partner) = &planned.partner {
                self.add_item(&path, setting, partner, &mut lines, random);
            }
            self.add_item(&path, setting, planned, &mut lines, random);
        }
        lines.extend(foot.iter().map(|line| (*line).to_owned()));
        let taken = self.files.insert(path, setting.encode(&lines));
        assert!(taken.is_none(), "paths of files differ");
    }

    fn add_item(
        &mut self,
        path: &str,
        setting: Setting,
        planned: &Planned,
        lines: &mut Vec<String>,
        random: &mut Random,
    ) {
        let (added, held) = if planned.is_block {
            setting.block(planned.name, &planned.token.text)
        } else {
            (vec![setting.line(planned.name, &planned.token.text, random)], 0..1)
        };
        let first = (lines.len() + held.start + 1) as u64;
        self.items.push(Item {
            file: path.to_owned(),
            lines: first..=first + held.len() as u64 - 1,
            label: planned.label,
            kind: planned.kind,
            setting: setting.name(),
            secret: planned.token.secret.clone(),
            shown: setting.shown(&planned.token.text),
        });
        lines.extend(added);
    }

    /// Adds several files of look-alikes that are whole lines.
    fn add_lines(&mut self, look_alike: &LookAlike, path: &str, random: &mut Random) {
        for number in 0..look_alike.count / LINES_PER_FILE {
            let file = format!("projects/{number}/{path}");
            let mut text = String::new();
            for line in 1..=LINES_PER_FILE as u64 {
                let shown = (look_alike.make)(random);
                text += &format!("{shown}\n");
                self.items.push(Item {
                    file: file.clone(),
                    lines: line..=line,
                    label: Label::LookAlike,
                    kind: look_alike.id,
                    setting: "lock files, code and logs",
                    secret: shown.clone(),
                    shown,
                });
            }
            self.files.insert(file, text.into_bytes());
        }
    }

    /// Writes the files below `folder`, which must be new or empty.
    ///
    /// # Errors
    /// Fails if the folder is not empty or cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
        }
        for (path, content) in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("it is below the folder"))?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    /// Returns the ground truth as a tab-separated table, one line per item.
    pub(crate) fn truth(&self) -> String {
        let mut table = String::from("file\tfirst line\tlast line\tlabel\tkind\tsetting\tsecret\n");
        for item in &self.items {
            let label = match item.label {
                Label::Secret => "secret",
                Label::LookAlike => "look-alike",
                Label::Disputed => "disputed",
            };
            let (first, last) = (item.lines.start(), item.lines.end());
            let secret = item.secret.replace('\n', "\\n").replace('\t', "\\t");
            table += &format!(
                "{}\t{first}\t{last}\t{label}\t{}\t{}\t{secret}\n",
                item.file, item.kind, item.setting
            );
        }
        table
    }
}

fn settings_of(is_block: bool) -> &'static [Setting] {
    if is_block { &Setting::OF_BLOCKS } else { &Setting::OF_VALUES }
}

fn plan_secret(kind: &SecretKind, random: &mut Random) -> Planned {
    let token = kind.make(random);
    // A secret with a recognizable format can be found under any name.
    let name = match kind.form {
        Form::Typical if random.below(4) == 0 => {
            pick(random, &["token", "api key", "credential", "value"])
        }
        _ => kind.name,
    };
    let partner = kind.partner.map(|partner| {
        Box::new(Planned {
            label: if partner.is_secret { Label::Secret } else { Label::Disputed },
            kind: partner.id,
            name: partner.name,
            token: Token::whole(fill(random, partner.form)),
            is_block: false,
            partner: None,
        })
    });
    let is_block = kind.form == Form::Block;
    Planned { label: Label::Secret, kind: kind.id, name, token, is_block, partner }
}

fn plan_look_alike(look_alike: &LookAlike, random: &mut Random) -> Planned {
    Planned {
        label: if look_alike.is_disputed { Label::Disputed } else { Label::LookAlike },
        kind: look_alike.id,
        name: pick(random, look_alike.names),
        token: Token::whole((look_alike.make)(random)),
        is_block: look_alike.place == Placement::Block,
        partner: None,
    }
}

/// Shuffles the list; all orders are equally likely.
fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.below(last + 1));
    }
}

/// Ordinary settings that are not secrets.
const FILLERS: [(&str, &str); 14] = [
    ("log level", "info"),
    ("port", "8080"),
    ("region", "eu-central-1"),
    ("timeout seconds", "30"),
    ("service url", "https://api.corp.internal/v2"),
    ("retries", "5"),
    ("bucket", "corp-invoices-prod"),
    ("user", "svc-billing"),
    ("feature flags", "beta-checkout,new-search"),
    ("time zone", "Europe/Berlin"),
    ("queue name", "orders-incoming"),
    ("cache size", "256"),
    ("description", "Sends invoices to customers once a month"),
    ("host", "db.prod.internal"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &[u8]) -> Vec<String> {
        let text = if file.starts_with(&[0xff, 0xfe]) {
            let units: Vec<u16> =
                file.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).expect("it was text")
        } else {
            String::from_utf8(file.to_vec()).expect("it was text")
        };
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_item_is_where_the_table_says() {
        let corpus = Corpus::generate(SEED);
        for item in &corpus.items {
            let lines = lines(&corpus.files[&item.file]);
            let held = &lines[*item.lines.start() as usize - 1..*item.lines.end() as usize];
            let held = held.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("\n");
            let shown = item.shown.trim_start();
            let escaped = shown.replace('\n', "\\n");
            assert!(held.contains(shown) || held.contains(&escaped), "{}: {held}", item.file);
        }
    }

    #[test]
    fn the_corpus_depends_only_on_the_seed() {
        let (one, same, other) = (Corpus::generate(1), Corpus::generate(1), Corpus::generate(2));
        assert_eq!(one.truth(), same.truth());
        assert_eq!(one.files, same.files);
        assert_ne!(one.truth(), other.truth());
    }

    #[test]
    fn there_are_about_as_many_look_alikes_as_secrets_and_no_secret_twice() {
        let corpus = Corpus::generate(SEED);
        let count = |label| corpus.items.iter().filter(|item| item.label == label).count();
        let (secrets, look_alikes) = (count(Label::Secret), count(Label::LookAlike));
        assert!(secrets >= 1_000, "{secrets}");
        assert!((secrets * 3 / 4..secrets * 5 / 4).contains(&look_alikes), "{look_alikes}");
        let mut all: Vec<_> = corpus
            .items
            .iter()
            .filter(|item| item.label == Label::Secret)
            .map(|item| &item.secret)
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), secrets);
    }

    #[test]
    fn a_folder_that_is_not_empty_is_left_alone() {
        let folder = tempfile::tempdir().expect("can create a temporary folder");
        fs::write(folder.path().join("precious"), b"").expect("is new");
        Corpus::generate(SEED).write(folder.path()).expect_err("the folder is not empty");
        assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 1);
    }
}
