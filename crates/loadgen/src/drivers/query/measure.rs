//! One question: on one socket, then on several at once.

use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use zeolite_proto::{EventId, EventParser, Filter};

use super::Spec;
use super::table::{Question, World};
use super::verdict::Expected;
use crate::drivers::ask::Asker;
use crate::drivers::error::DriveError;
use crate::latency::Recorder;
use crate::row::Row;
use crate::target::Target;

pub(super) async fn measure(
    target: &Target,
    spec: &Spec,
    world: &World,
    question: &Question,
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let mut asker = Asker::connect(target, 0, silence).await?;
    let filter = Filter::from_json(&question.filter)
        .map_err(|error| DriveError::Spec(format!("{}: {error}", question.name)))?;
    let expected = Expected::new(world, &filter);
    let ids = examine(&mut asker, question, &filter, &expected, row).await?;
    one_socket(&mut asker, spec, question, &ids, row).await?;
    several_sockets(target, spec, question, &ids, row).await?;
    count(&mut asker, question, &expected, row).await
}

/// Asks once and looks at everything: ids, order, and that each event is what it claims to be.
async fn examine(
    asker: &mut Asker,
    question: &Question,
    filter: &Filter,
    expected: &Expected<'_>,
    row: &mut Row,
) -> Result<Vec<EventId>, DriveError> {
    let mut parser = EventParser::new();
    let mut wrong = 0_u64;
    let answer = asker
        .ask_with(&question.filter, |id, json| {
            let text = std::str::from_utf8(json).unwrap_or_default();
            let event = parser.parse(text);
            let is_right = event.is_ok_and(|e| e.view().id() == id && filter.matches(e.view()));
            wrong += u64::from(!is_right);
        })
        .await?;
    row.check("end", "EOSE".to_owned(), answer.refusal.unwrap_or_else(|| "EOSE".into()))
        .check("wrong_events", 0, wrong)
        .results(&answer.ids);
    expected.check(row, &answer.ids);
    Ok(answer.ids)
}

async fn one_socket(
    asker: &mut Asker,
    spec: &Spec,
    question: &Question,
    ids: &[EventId],
    row: &mut Row,
) -> Result<(), DriveError> {
    let (mut first, mut eose) = (Recorder::new(), Recorder::new());
    let (mut differ, mut answers) = (0_u64, 0_u64);
    let begin = row.begin();
    while begin.elapsed().as_secs_f64() < spec.seconds || answers == 0 {
        let answer = asker.ask(&question.filter).await?;
        answers += 1;
        differ += u64::from(answer.ids != ids);
        eose.record(answer.done);
        if let Some(time) = answer.first {
            first.record(time);
        }
    }
    row.end(answers);
    row.figure("answers", answers as f64)
        .figure("events", ids.len() as f64)
        .latency("eose", &eose)
        .check("answers_that_differ", 0, differ);
    if first.count() > 0 {
        row.latency("first_event", &first);
    }
    Ok(())
}

async fn several_sockets(
    target: &Target,
    spec: &Spec,
    question: &Question,
    ids: &[EventId],
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let shared: Rc<(String, Vec<EventId>)> = Rc::new((question.filter.clone(), ids.to_vec()));
    let mut askers = Vec::new();
    for number in 0..spec.sockets {
        askers.push(Asker::connect(target, number, silence).await?);
    }
    let begin = Instant::now();
    let until = begin + Duration::from_secs_f64(spec.seconds);
    let mut lanes = JoinSet::new();
    for mut asker in askers {
        let shared = shared.clone();
        lanes.spawn_local(async move {
            let (mut answers, mut differ) = (0_u64, 0_u64);
            while Instant::now() < until {
                answers += 1;
                differ += u64::from(asker.ask(&shared.0).await?.ids != shared.1);
            }
            Ok::<_, DriveError>((answers, differ))
        });
    }
    let (mut answers, mut differ) = (0, 0);
    while let Some(Ok(lane)) = lanes.join_next().await {
        let lane = lane?;
        answers += lane.0;
        differ += lane.1;
    }
    let elapsed_s = begin.elapsed().as_secs_f64();
    row.figure("answers_per_s", answers as f64 / elapsed_s)
        .figure("events_per_s", (answers * ids.len() as u64) as f64 / elapsed_s)
        .check("answers_that_differ_at_once", 0, differ);
    Ok(())
}

/// COUNT of the same filter without its limit. A relay without NIP-45 gets a warning, no error.
async fn count(
    asker: &mut Asker,
    question: &Question,
    expected: &Expected<'_>,
    row: &mut Row,
) -> Result<(), DriveError> {
    let mut filter: serde_json::Value = serde_json::from_str(&question.filter)
        .map_err(|error| DriveError::Spec(error.to_string()))?;
    if let Some(members) = filter.as_object_mut() {
        members.remove("limit");
    }
    match asker.count(&filter.to_string()).await {
        Ok((found, time)) => {
            let mut times = Recorder::new();
            times.record(time);
            let (least, most) = expected.count();
            let range = if least == most { least.to_string() } else { format!("{least}..{most}") };
            row.latency("count", &times).require(
                "count",
                &range,
                found,
                (least..=most).contains(&found),
            );
        }
        Err(error) => {
            row.warn(format!("COUNT: {error}"));
        }
    }
    Ok(())
}
