//! The place of this process among those that a scheduler started, from the scheduler's own variables.

use crate::mistakes::refused;
use anyhow::{Result, anyhow};
use record::Origin;
use std::{env, fmt, fs};

/// A scheduler, or the launcher of an MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduler {
    /// Open MPI's mpirun.
    OpenMpi,
    /// Slurm's srun.
    Slurm,
    /// A launcher that speaks PMIx.
    Pmix,
    /// A launcher that speaks PMI, such as MPICH's and Intel's mpiexec.
    Pmi,
    /// Kubernetes, with an indexed Job.
    Kubernetes,
    /// None: this process was started by itself.
    Nobody,
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheduler::OpenMpi => "Open MPI",
            Scheduler::Slurm => "Slurm",
            Scheduler::Pmix => "PMIx",
            Scheduler::Pmi => "PMI",
            Scheduler::Kubernetes => "Kubernetes",
            Scheduler::Nobody => "no scheduler",
        })
    }
}

/// The place of a process among the ranks of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The scheduler that started it.
    pub scheduler: Scheduler,
    /// The run that all ranks share.
    pub run: String,
    /// Its rank; `None` where nobody numbers the processes.
    pub rank: Option<u32>,
    /// The number of ranks, as far as the scheduler tells.
    pub ranks: Option<u32>,
    /// Its number among the ranks of this machine.
    pub local: u32,
    /// The machine's name.
    pub host: String,
}

/// The user's own words about the run, which go before the scheduler's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The run's name.
    pub run: Option<String>,
    /// The number of ranks.
    pub ranks: Option<u32>,
    /// When this process started, in seconds since 1970: the name of a run that nobody named.
    pub started_unix: u64,
}

impl Place {
    /// Finds the place in this process's environment.
    ///
    /// # Errors
    /// A scheduler started this process without telling the run's name, or a variable of its is not a number.
    pub(crate) fn find(told: &Told) -> Result<Place> {
        Place::of(told, &|name| env::var(name).ok().filter(|value| !value.is_empty()), &host_name())
    }

    /// Finds the place in these variables.
    fn of(told: &Told, variable: &dyn Fn(&str) -> Option<String>, host: &str) -> Result<Place> {
        let number = |name: &str| -> Result<Option<u32>> {
            let parsed = variable(name).map(|value| {
                value.trim().parse().map_err(|_| {
                    refused(anyhow!(
                        "{name} is '{value}', which is no number: the scheduler sets it; leave it alone"
                    ))
                })
            });
            parsed.transpose()
        };
        // mpirun within a Slurm job: each of its daemons is one task of Slurm, so Open MPI's own variables go first. srun with
        // PMI or PMIx sets those as well, and does not tell the number of ranks by PMIx.
        let (scheduler, rank, ranks, local, run) = if let Some(rank) = number("OMPI_COMM_WORLD_RANK")? {
            let run = variable("PMIX_NAMESPACE").or_else(|| variable("OMPI_MCA_ess_base_jobid"));
            let local = number("OMPI_COMM_WORLD_LOCAL_RANK")?;
            (
                Scheduler::OpenMpi,
                Some(rank),
                number("OMPI_COMM_WORLD_SIZE")?,
                local,
                run.map(|run| format!("mpi-{run}")),
            )
        } else if let (Some(rank), Some(ranks)) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?) {
            let id = |name| variable(name).unwrap_or_else(|| "0".to_string());
            let run = format!("slurm-{}.{}", id("SLURM_JOB_ID"), id("SLURM_STEP_ID"));
            (Scheduler::Slurm, Some(rank), Some(ranks), number("SLURM_LOCALID")?, Some(run))
        } else if let Some(rank) = number("PMI_RANK")? {
            let run = variable("PMI_JOBID").map(|run| format!("pmi-{run}"));
            (Scheduler::Pmi, Some(rank), number("PMI_SIZE")?, number("MPI_LOCALRANKID")?, run)
        } else if let Some(rank) = number("PMIX_RANK")? {
            let run = variable("PMIX_NAMESPACE").map(|run| format!("pmix-{run}"));
            (Scheduler::Pmix, Some(rank), None, number("PMIX_LOCAL_RANK")?, run)
        } else if let Some(rank) = number("JOB_COMPLETION_INDEX")? {
            // The pods of an indexed Job are named by the Job and their index.
            let pod = variable("HOSTNAME").unwrap_or_default();
            let job = pod.strip_suffix(&format!("-{rank}")).filter(|job| !job.is_empty());
            (Scheduler::Kubernetes, Some(rank), None, None, job.map(|job| format!("job-{job}")))
        } else {
            (Scheduler::Nobody, None, None, None, Some(format!("run-{}", told.started_unix)))
        };
        let run = told.run.clone().or(run).ok_or_else(|| {
            refused(anyhow!(
                "{scheduler} does not tell the name of the run, which all ranks have to share: name it with --run-id, as in \
                 --run-id check-1"
            ))
        })?;
        if !is_file_name(&run) {
            return Err(refused(anyhow!(
                "the run's name '{run}' cannot be the name of a folder; letters, digits, '.', '_', '-' and '@' can: name it \
                 with --run-id"
            )));
        }
        let ranks = told.ranks.or(ranks);
        if let (Some(rank), Some(ranks)) = (rank, ranks)
            && rank >= ranks
        {
            return Err(refused(anyhow!(
                "this is rank {rank} of {ranks}: ranks count from 0, so --ranks is too small"
            )));
        }
        let host =
            variable("NODE_NAME").or_else(|| variable("SLURMD_NODENAME")).unwrap_or_else(|| host.to_string());
        Ok(Place { scheduler, run, rank, ranks, local: local.unwrap_or(0), host })
    }

    /// The card that this rank takes of those that it sees: ranks of a machine share them out.
    pub(crate) fn card(&self, visible: u32) -> u32 {
        self.local % visible.max(1)
    }

    /// The name of the rank's file.
    pub(crate) fn file(&self) -> String {
        match self.rank {
            Some(rank) => format!("rank-{rank:05}.jsonl"),
            None => format!("{}.jsonl", self.host),
        }
    }

    /// What the rows of a card say of their origin.
    pub(crate) fn origin(&self, uuid: Option<String>, passes: u32) -> Origin {
        Origin {
            run: self.run.clone(),
            rank: self.rank,
            ranks: self.ranks,
            host: self.host.clone(),
            uuid,
            pass: 0,
            passes,
            version: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rank, self.ranks) {
            (Some(rank), Some(ranks)) => write!(f, "rank {rank} of {ranks}")?,
            (Some(rank), None) => write!(f, "rank {rank}")?,
            (None, _) => return write!(f, "{}", self.host),
        }
        write!(f, " ({}) on {}", self.scheduler, self.host)
    }
}

fn is_file_name(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-@".contains(letter);
    !text.is_empty() && text.chars().all(allowed) && !text.starts_with('.')
}

/// The machine's name, as the kernel has it.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_string())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)], told: &Told) -> Result<Place, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Place::of(told, &variable, "here").map_err(|error| error.to_string())
    }

    fn found(variables: &[(&str, &str)]) -> (String, String, Option<u32>, Option<u32>, u32, String) {
        let place = place(variables, &Told { started_unix: 7, ..Told::default() }).expect("a place");
        (place.scheduler.to_string(), place.run, place.rank, place.ranks, place.local, place.host)
    }

    #[test]
    fn each_scheduler_tells_in_its_own_variables() {
        let slurm = [
            ("SLURM_PROCID", "17"),
            ("SLURM_STEP_NUM_TASKS", "4096"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_JOB_ID", "1234"),
            ("SLURM_STEP_ID", "0"),
            ("SLURMD_NODENAME", "node003"),
            ("PMI_RANK", "17"),
            ("PMIX_RANK", "17"),
        ];
        let expected = |scheduler: &str, run: &str, rank, ranks, local, host: &str| {
            (scheduler.to_string(), run.to_string(), rank, ranks, local, host.to_string())
        };
        assert_eq!(found(&slurm), expected("Slurm", "slurm-1234.0", Some(17), Some(4096), 1, "node003"));
        // mpirun in a job of Slurm's, whose variables are those of the daemon.
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("PMIX_NAMESPACE", "352"),
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "2"),
        ];
        assert_eq!(found(&mpi), expected("Open MPI", "mpi-352", Some(5), Some(8), 1, "here"));
        let pmi = [("PMI_RANK", "3"), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", "3"), ("PMI_JOBID", "x")];
        assert_eq!(found(&pmi), expected("PMI", "pmi-x", Some(3), Some(4), 3, "here"));
        let pmix = [("PMIX_RANK", "3"), ("PMIX_NAMESPACE", "prterun-host-7@1")];
        assert_eq!(found(&pmix), expected("PMIx", "pmix-prterun-host-7@1", Some(3), None, 0, "here"));
        let job = [("JOB_COMPLETION_INDEX", "12"), ("HOSTNAME", "coalesce-12"), ("NODE_NAME", "gpu-7")];
        assert_eq!(found(&job), expected("Kubernetes", "job-coalesce", Some(12), None, 0, "gpu-7"));
        assert_eq!(found(&[]), expected("no scheduler", "run-7", None, None, 0, "here"));
        // A batch script itself is no rank: srun starts those.
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("SLURM_JOB_ID", "1")];
        assert_eq!(found(&batch).0, "no scheduler");
    }

    #[test]
    fn what_the_user_tells_goes_first() {
        let told = Told { run: Some("check-1".to_string()), ranks: Some(64), started_unix: 0 };
        let place = place(&[("JOB_COMPLETION_INDEX", "12")], &told).expect("a place");
        assert_eq!((place.run.as_str(), place.rank, place.ranks), ("check-1", Some(12), Some(64)));
        assert_eq!(
            (place.file().as_str(), place.to_string().as_str()),
            ("rank-00012.jsonl", "rank 12 of 64 (Kubernetes) on here")
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let error = |variables: &[(&str, &str)], told: Told| place(variables, &told).expect_err("an error");
        let none = error(&[("PMI_RANK", "0")], Told::default());
        assert!(
            none.starts_with("PMI does not tell the name of the run") && none.contains("--run-id"),
            "{none}"
        );
        let wrong = error(&[("PMI_RANK", "two")], Told::default());
        assert!(wrong.starts_with("PMI_RANK is 'two', which is no number"), "{wrong}");
        let few = Told { ranks: Some(2), ..Told::default() };
        let few = error(&[("JOB_COMPLETION_INDEX", "2"), ("HOSTNAME", "c-2")], few);
        assert_eq!(few, "this is rank 2 of 2: ranks count from 0, so --ranks is too small");
        let path = Told { run: Some("../x".to_string()), ..Told::default() };
        assert!(error(&[], path).starts_with("the run's name '../x' cannot be the name of a folder"));
    }

    #[test]
    fn ranks_of_a_machine_share_its_cards() {
        let of = |local: u32, visible| {
            let place = place(
                &[
                    ("OMPI_COMM_WORLD_RANK", "9"),
                    ("OMPI_COMM_WORLD_LOCAL_RANK", &local.to_string()),
                    ("PMIX_NAMESPACE", "1"),
                ],
                &Told::default(),
            );
            place.expect("a place").card(visible)
        };
        assert_eq!([of(0, 8), of(7, 8), of(9, 8), of(3, 1), of(3, 0)], [0, 7, 1, 0, 0]);
    }
}
