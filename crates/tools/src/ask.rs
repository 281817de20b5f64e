//! The tool `ask`: puts questions before a person and waits for the answers.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use vocabulary::{Effects, Question, QuestionOption, Subject, ToolOutput};

use crate::input::Fields;
use crate::{Failure, Judgement, QuestionAnswer, Scope, Tool, ToolCx};

const QUESTIONS_MAX: usize = 4;
const OPTIONS_MAX: usize = 20;
const QUESTION_CHARS_MAX: usize = 2000;
const HEADER_CHARS_MAX: usize = 100;
const OPTION_CHARS_MAX: usize = 500;
/// The answer to a question that was passed over.
const SKIPPED: &str = "[skipped]";

/// What it is called.
pub const ASK: &str = "ask";

pub(crate) struct AskTool;

#[async_trait]
impl Tool for AskTool {
    fn name(&self) -> &'static str {
        ASK
    }

    fn description(&self) -> &'static str {
        "Asks the user.\n\
         Either one question with options to choose from, or up to four questions at once. The \
         user may also answer in their own words, or skip a question."
    }

    fn parameters(&self) -> Value {
        let option = json!({
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                    "required": ["label"],
                },
            ],
        });
        let options = json!({"type": "array", "items": option, "maxItems": OPTIONS_MAX});
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "A single question."},
                "options": options,
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": QUESTIONS_MAX,
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": {"type": "string"},
                            "header": {"type": "string", "description": "A word or two above the question."},
                            "options": options,
                            "multiSelect": {"type": "boolean", "default": false},
                        },
                        "required": ["question"],
                    },
                },
            },
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn subject(&self, _input: &Value) -> Subject {
        Subject::Question
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let AskInput { form, questions } = parse(&input)?;
        let answers = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => None,
            answers = cx.host.ask(questions.clone()) => answers,
        };
        match answers {
            Some(answers) if form == AskForm::One => {
                let answer = answers.first().map_or(&[][..], Vec::as_slice);
                Ok(ToolOutput::Text(told_answer(answer)))
            }
            Some(answers) => Ok(ToolOutput::Json(tell(&questions, Some(&answers)))),
            None => Err(Failure::Cancelled(ToolOutput::Json(tell(&questions, None)))),
        }
    }
}

struct AskInput {
    form: AskForm,
    questions: Vec<Question>,
}

/// In which of its two forms the tool was called, and so what it gives back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AskForm {
    /// `question`: the answer is the result.
    One,
    /// `questions`: all of them with their answers.
    Several,
}

fn parse(input: &Value) -> Result<AskInput, Failure> {
    let fields = Fields::of("ask", input)?;
    if fields.get("questions").is_none() {
        return Ok(AskInput {
            form: AskForm::One,
            questions: vec![parse_question(&fields, 0)?],
        });
    }
    if fields.get("question").is_some() {
        return Err(fields.refuse("question", "left out where there are \"questions\""));
    }
    let mut questions: Vec<Question> = Vec::new();
    for (index, value) in fields
        .list("questions", 1..=QUESTIONS_MAX)?
        .iter()
        .enumerate()
    {
        let entry = fields.entry("questions", index, value)?;
        let question = parse_question(&entry, index)?;
        // Answers are told by the question's text.
        if questions
            .iter()
            .any(|other| other.question == question.question)
        {
            return Err(entry.refuse("question", "different from the other questions"));
        }
        questions.push(question);
    }
    Ok(AskInput {
        form: AskForm::Several,
        questions,
    })
}

fn parse_question(fields: &Fields<'_>, place: usize) -> Result<Question, Failure> {
    let mut options = Vec::new();
    if fields.get("options").is_some() {
        for (index, value) in fields.list("options", 0..=OPTIONS_MAX)?.iter().enumerate() {
            options.push(parse_option(fields, index, value)?);
        }
    }
    Ok(Question {
        id: format!("q{}", place + 1),
        header: fields
            .optional_text("header", HEADER_CHARS_MAX)?
            .map(str::to_owned),
        question: fields
            .filled_text("question", QUESTION_CHARS_MAX)?
            .to_owned(),
        options,
        multi_select: fields.optional_flag("multiSelect")?.unwrap_or(false),
    })
}

fn parse_option(
    fields: &Fields<'_>,
    index: usize,
    value: &Value,
) -> Result<QuestionOption, Failure> {
    if let Value::String(label) = value
        && !label.trim().is_empty()
        && label.chars().count() <= OPTION_CHARS_MAX
    {
        return Ok(QuestionOption {
            label: label.clone(),
            description: None,
        });
    }
    let option = fields.entry("options", index, value)?;
    let label = option.filled_text("label", OPTION_CHARS_MAX)?.to_owned();
    let description = option.optional_text("description", OPTION_CHARS_MAX)?;
    Ok(QuestionOption {
        label,
        description: description.map(str::to_owned),
    })
}

/// What the model is told: the questions, and the answers by question.
fn tell(questions: &[Question], answers: Option<&[QuestionAnswer]>) -> Value {
    let mut by_question = Map::new();
    if let Some(answers) = answers {
        for (index, question) in questions.iter().enumerate() {
            let chosen = answers.get(index).map_or(&[][..], Vec::as_slice);
            let answer = told_answer(chosen);
            by_question.insert(question.question.clone(), Value::String(answer));
        }
    }
    let questions: Vec<Value> = questions.iter().map(tell_question).collect();
    json!({"questions": questions, "answers": by_question})
}

/// One question's answer as a text: as it was said, or that it was passed over.
fn told_answer(chosen: &[String]) -> String {
    let chosen: Vec<&str> = chosen
        .iter()
        .map(String::as_str)
        .filter(|answer| !answer.trim().is_empty())
        .collect();
    match chosen.is_empty() {
        true => SKIPPED.to_owned(),
        false => chosen.join(", "),
    }
}

fn tell_question(question: &Question) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| match &option.description {
            Some(description) => json!({"label": option.label, "description": description}),
            None => json!({"label": option.label}),
        })
        .collect();
    let mut told = json!({"question": question.question, "options": options});
    if let Some(header) = &question.header {
        told["header"] = json!(header);
    }
    if question.multi_select {
        told["multiSelect"] = json!(true);
    }
    told
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::scratch::{Scratch, Witness};

    fn host(answers: &[&[&str]]) -> Arc<Witness> {
        let host = Arc::new(Witness::default());
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(|text| text.to_string()).collect());
        *host.answers.lock().unwrap() = Some(answers.collect());
        host
    }

    #[tokio::test]
    async fn one_question_is_asked_and_answered() {
        let (scratch, host) = (Scratch::new(), host(&[&[" Blue "]]));
        let input = json!({"question": "Which?", "options": ["Blue", {"label": "Red", "description": "warm"}]});
        let output = AskTool.run(&scratch.cx(&host), input).await.unwrap();
        assert_eq!(output, ToolOutput::Text(" Blue ".to_owned()));
        let asked = host.asked.lock().unwrap();
        assert_eq!(
            asked[0].options[1],
            QuestionOption {
                label: "Red".to_owned(),
                description: Some("warm".to_owned()),
            }
        );
    }

    #[tokio::test]
    async fn a_single_question_that_is_passed_over_says_so() {
        let (scratch, host) = (Scratch::new(), host(&[&[]]));
        let cx = scratch.cx(&host);
        let output = AskTool.run(&cx, json!({"question": "Which?"})).await;
        assert_eq!(output.unwrap(), ToolOutput::Text("[skipped]".to_owned()));
    }

    #[tokio::test]
    async fn several_choices_are_joined_and_what_is_missing_was_skipped() {
        let (scratch, host) = (Scratch::new(), host(&[&["a", "b"], &[]]));
        let input = json!({"questions": [
            {"question": "One?", "header": "First", "multiSelect": true, "options": ["a", "b"]},
            {"question": "Two?"},
            {"question": "Three?"},
        ]});
        let output = AskTool.run(&scratch.cx(&host), input).await.unwrap();
        let ToolOutput::Json(told) = output else {
            panic!("ask tells JSON");
        };
        assert_eq!(
            told["answers"],
            json!({"One?": "a, b", "Two?": "[skipped]", "Three?": "[skipped]"})
        );
        assert_eq!(told["questions"][0]["header"], "First");
        assert_eq!(told["questions"][0]["multiSelect"], true);
    }

    #[tokio::test]
    async fn cancelling_ends_the_wait() {
        let scratch = Scratch::new();
        let cx = scratch.cx(&Arc::default());
        cx.cancel.cancel();
        let outcome = AskTool.run(&cx, json!({"question": "Which?"})).await;
        assert!(matches!(
            outcome,
            Err(Failure::Cancelled(ToolOutput::Json(_)))
        ));
    }

    #[tokio::test]
    async fn bad_questions_are_refused() {
        let scratch = Scratch::new();
        let five = vec![json!({"question": "x"}); 5];
        let table = [
            (json!({}), "ask: \"question\" must be a text, got nothing"),
            (
                json!({"question": ""}),
                "ask: \"question\" must be a text that is not empty",
            ),
            (
                json!({"question": "x", "options": "y"}),
                "ask: \"options\" must be a list, got \"y\"",
            ),
            (
                json!({"question": "x", "options": [7]}),
                "ask: \"options[0]\" must be an object, got 7",
            ),
            (
                json!({"question": "x", "questions": [{"question": "y"}]}),
                "ask: \"question\" must be left out where there are \"questions\"",
            ),
            (
                json!({"questions": []}),
                "ask: \"questions\" must have 1 to 4 entries, got 0",
            ),
            (
                json!({"questions": five}),
                "ask: \"questions\" must have 1 to 4 entries, got 5",
            ),
            (
                json!({"questions": [{"question": "x"}, {"question": "x"}]}),
                "\"questions[1].question\" must be different",
            ),
            (
                json!({"questions": [{"question": "x", "options": [{}]}]}),
                "ask: \"questions[0].options[0].label\" must be a text, got nothing",
            ),
        ];
        for (input, expected) in table {
            let message = scratch.refusal(&AskTool, input).await;
            assert!(message.contains(expected), "{message}");
        }
    }
}
