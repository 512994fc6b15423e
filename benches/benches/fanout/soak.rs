//! Load for as long as is asked, with clients of every kind: readers, ones that leave and come back, ones that stop reading. What
//! the server holds is sampled; it must not grow.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use debate_proto::v1;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::process::Server;
use crate::subscriber::{Connections, Seen, Subscriber, may_pass};

/// Debates at any time.
const DEBATES: usize = 50;
/// Samples over the whole time.
const SAMPLES: u32 = 120;
/// Growth over the second half that is noise: this part of the mean, and this many standard deviations around the line.
const NOISE_SHARE: f64 = 0.05;
const NOISE_DEVIATIONS: f64 = 3.0;
/// Growth of tasks and files that is noise, whatever their mean.
const NOISE_COUNT: f64 = 20.0;

/// How one thing that the server holds went over time.
struct Course {
    name: &'static str,
    samples: Vec<f64>,
    noise_min: f64,
}

impl Course {
    /// Returns how much the line of least squares through the second half of the samples rises, and how much is noise.
    fn growth(&self) -> (f64, f64) {
        let half = &self.samples[self.samples.len() / 2..];
        let count = half.len() as f64;
        let mean = half.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let places = half.iter().enumerate().map(|(place, sample)| (place as f64 - middle, sample - mean));
        let (mut across, mut along) = (0.0, 0.0);
        for (place, sample) in places.clone() {
            across += place * sample;
            along += place * place;
        }
        let slope = across / along;
        let squares = places.map(|(place, sample)| (sample - slope * place).powi(2)).sum::<f64>();
        let deviation = (squares / count).sqrt();
        // A line through noise alone rises by this much with the given number of its own standard deviations.
        let of_chance = NOISE_DEVIATIONS * deviation * (count - 1.0) / along.sqrt();
        (slope * (count - 1.0), of_chance.max(NOISE_SHARE * mean).max(self.noise_min))
    }

    fn json(&self) -> Value {
        let (growth, noise) = self.growth();
        json!({"name": self.name, "growth": growth, "noise": noise, "samples": self.samples})
    }
}

/// One debate after the other until the end, each with a reader and one who leaves and comes back.
async fn keep_debating(
    worker: usize,
    server: watch::Receiver<Connections>,
    seen: Arc<Seen>,
    end: Instant,
) -> Result<usize> {
    let connections = server.borrow().clone();
    let mut debates = 0;
    while Instant::now() < end {
        let id = connections.start(worker).await?;
        if debates % 10 == 0 {
            stop_reading(&connections, worker, &id).await?;
        }
        let one = |leaves_after| Subscriber {
            debate: id.parse().expect("the server names debates"),
            server: server.clone(),
            number: worker,
            seen: Arc::clone(&seen),
            leaves_after,
        };
        let (stays, comes_back) = tokio::join!(one(None).follow(), one(Some(40)).follow());
        ensure!(stays? == comes_back?, "two subscribers saw different debates");
        debates += 1;
    }
    Ok(debates)
}

/// Asks for a stream and goes away in its middle without a word.
async fn stop_reading(connections: &Connections, worker: usize, id: &str) -> Result<()> {
    let watch = v1::WatchDebateRequest { debate_id: id.to_owned(), ..Default::default() };
    let heard = async {
        let mut stream = connections.client(worker).watch_debate(watch).await?.into_inner();
        stream.message().await
    };
    match heard.await {
        Err(status) if !may_pass(&status) => Err(status.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Runs for so long, prints what the server held, and fails where any of it grew.
pub(crate) async fn run(duration: Duration, json: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start("engine", &folder.path().join("soak.sqlite"))?;
    server.tell("go")?;
    let (connections, _) = watch::channel(Connections::open(&server.address, DEBATES * 4).await?);
    let (seen, end) = (Arc::<Seen>::default(), Instant::now() + duration);
    let mut workers = JoinSet::new();
    for worker in 0..DEBATES {
        workers.spawn(keep_debating(worker, connections.subscribe(), Arc::clone(&seen), end));
    }
    let mut debates = 0;
    let mut courses = [("resident MB", 5.0), ("tasks", NOISE_COUNT), ("files", NOISE_COUNT)]
        .map(|(name, noise_min)| Course { name, samples: Vec::new(), noise_min });
    println!("{DEBATES} debates at any time for {:.0} s, sampled {SAMPLES} times", duration.as_secs_f64());
    for sample in 0..SAMPLES {
        tokio::time::sleep(duration / (SAMPLES + 1)).await;
        // They end behind the end alone, which a sample that took long may see; or one has failed.
        while let Some(ended) = workers.try_join_next() {
            debates += ended??;
        }
        let usage = server.usage()?;
        let tasks: f64 = server.ask("tasks")?.parse()?;
        for (course, sample) in courses.iter_mut().zip([usage.resident_mb, tasks, usage.files as f64]) {
            course.samples.push(sample);
        }
        if sample % 10 == 9 {
            let now: Vec<String> = courses
                .iter()
                .map(|it| format!("{} {:.0}", it.name, it.samples[it.samples.len() - 1]))
                .collect();
            eprintln!(
                "{:>5.0} s: {}",
                (duration / (SAMPLES + 1) * (sample + 1)).as_secs_f64(),
                now.join(", ")
            );
        }
    }
    while let Some(ended) = workers.join_next().await {
        debates += ended??;
    }
    let (events, resumed) = (seen.events.load(Ordering::Relaxed), seen.resumed.load(Ordering::Relaxed));
    println!("{debates} debates, {events} events checked, {resumed} times resumed; over the second half:");
    for course in &courses {
        let (growth, noise) = course.growth();
        let last = course.samples.last().copied().unwrap_or_default();
        println!(
            "{:<12} {last:>8.1} at the end, grew by {growth:>7.2}; up to {noise:.2} is noise",
            course.name
        );
    }
    if json {
        let courses: Vec<Value> = courses.iter().map(Course::json).collect();
        let results = json!({
            "seconds": duration.as_secs_f64(), "debates": debates, "events": events, "resumed": resumed,
            "usage": server.usage()?.json(), "courses": courses,
        });
        println!("{}", json!({"bench": "soak", "results": results}));
    }
    server.terminate()?;
    for course in &courses {
        let (growth, noise) = course.growth();
        ensure!(growth <= noise, "{} grew by {growth:.2} over the second half", course.name);
    }
    Ok(())
}
