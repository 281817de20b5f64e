use proptest::prelude::*;

use super::*;

/// The text in pieces of these lengths; what is left comes last.
fn split(text: &str, lengths: &[usize]) -> Vec<PlanPiece> {
    let (mut splitter, mut pieces) = (PlanSplitter::default(), Vec::new());
    let letters: Vec<char> = text.chars().collect();
    let mut rest = letters.as_slice();
    for length in lengths {
        let (piece, others) = rest.split_at((*length).min(rest.len()));
        pieces.extend(splitter.push(&piece.iter().collect::<String>()));
        rest = others;
    }
    pieces.extend(splitter.push(&rest.iter().collect::<String>()));
    pieces.extend(splitter.finish());
    joined(pieces)
}

/// As one would read them: pieces of the same thing together.
fn joined(pieces: Vec<PlanPiece>) -> Vec<PlanPiece> {
    let mut whole: Vec<PlanPiece> = Vec::new();
    for piece in pieces {
        match piece {
            PlanPiece::Text(text) => add_text(&mut whole, &text),
            PlanPiece::Plan(text) => add_plan(&mut whole, &text),
            piece @ (PlanPiece::Begin(_) | PlanPiece::End(_)) => whole.push(piece),
        }
    }
    whole
}

fn written(pieces: &[PlanPiece]) -> String {
    let text = pieces.iter().map(|piece| match piece {
        PlanPiece::Text(text)
        | PlanPiece::Begin(text)
        | PlanPiece::Plan(text)
        | PlanPiece::End(text) => text.as_str(),
    });
    text.collect()
}

fn text(text: &str) -> PlanPiece {
    PlanPiece::Text(text.to_owned())
}

fn plan(before: &str, text: &str, after: &str) -> [PlanPiece; 3] {
    [
        PlanPiece::Begin(before.to_owned()),
        PlanPiece::Plan(text.to_owned()),
        PlanPiece::End(after.to_owned()),
    ]
}

#[test]
fn a_plan_is_told_apart_from_the_words_around_it() {
    let said = "Here it is:\n\n<proposed_plan>\n# Do it\n1. a <b>\n</proposed_plan>\n\nShall I?";
    let [begin, inner, end] = plan(
        "<proposed_plan>\n",
        "# Do it\n1. a <b>\n",
        "</proposed_plan>\n\n",
    );
    let whole = [text("Here it is:\n\n"), begin, inner, end, text("Shall I?")];
    assert_eq!(split(said, &[]), whole);
    let alone = "\n <proposed_plan>a</proposed_plan>\n";
    let whole = plan("\n <proposed_plan>", "a", "</proposed_plan>\n");
    assert_eq!(split(alone, &[]), whole);
}

#[test]
fn what_only_looks_like_a_plan_stays_text() {
    for said in [
        "I write <proposed_plan> at the end",
        "<proposed_pla>x</proposed_plan>",
        "< proposed_plan>",
        "</proposed_plan>",
        "<proposed_plan",
        "  \n ",
    ] {
        assert_eq!(split(said, &[]), [text(said)], "{said}");
    }
    assert_eq!(split("", &[]), []);
}

#[test]
fn a_plan_without_an_end_is_one_as_far_as_it_came() {
    let whole = plan("<proposed_plan>\n", "step 1 </propo", "");
    assert_eq!(split("<proposed_plan>\nstep 1 </propo", &[]), whole);
    let begun = [
        PlanPiece::Begin("<proposed_plan>".to_owned()),
        PlanPiece::End(String::new()),
    ];
    assert_eq!(split("<proposed_plan>", &[]), begun);
}

/// Texts that are full of marks, whole and in part.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("<proposed_plan>".to_owned()),
        Just("</proposed_plan>".to_owned()),
        Just("<proposed_".to_owned()),
        Just("</prop".to_owned()),
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just("\r\n".to_owned()),
        "[a-z<>/ ü_]{0,6}",
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn how_a_text_is_cut_makes_no_difference(
        said in any_text(),
        lengths in prop::collection::vec(0_usize..9, 0..40),
    ) {
        let whole = split(&said, &[]);
        prop_assert_eq!(&split(&said, &lengths), &whole);
        prop_assert_eq!(written(&whole), said);
        // A plan has one beginning and one end, and nothing else stands between them.
        let mut inside = false;
        for piece in &whole {
            let fits = match piece {
                PlanPiece::Begin(_) => !std::mem::replace(&mut inside, true),
                PlanPiece::Plan(_) => inside,
                PlanPiece::End(_) => std::mem::replace(&mut inside, false),
                PlanPiece::Text(_) => !inside,
            };
            prop_assert!(fits, "{:?}", whole);
        }
        prop_assert!(!inside);
    }
}
