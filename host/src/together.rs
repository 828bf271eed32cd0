//! Where ranks meet: MPI's barrier, in a program that is built with the feature `mpi`.

#[cfg(not(feature = "mpi"))]
use crate::mistakes::refused;
use anyhow::Result;

/// Ranks that begin each pass at the same time, if they are asked to.
pub(crate) struct Together {
    /// MPI, which ends when this does.
    #[cfg(feature = "mpi")]
    universe: Option<mpi::environment::Universe>,
}

impl Together {
    /// Starts MPI if ranks are to meet.
    ///
    /// # Errors
    /// This program has no MPI, or MPI does not start.
    #[cfg(feature = "mpi")]
    pub(crate) fn start(wanted: bool) -> Result<Together> {
        if !wanted {
            return Ok(Together { universe: None });
        }
        let universe = mpi::initialize();
        universe.map(|universe| Together { universe: Some(universe) }).ok_or_else(|| {
            anyhow::anyhow!(
                "--together cannot start MPI, which was started before in this process: report this"
            )
        })
    }

    /// Refuses to meet.
    ///
    /// # Errors
    /// Ranks are to meet, and this program has no MPI.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn start(wanted: bool) -> Result<Together> {
        if wanted {
            return Err(refused(anyhow::anyhow!(
                "--together makes ranks wait for each other by MPI, which this program is built without: build it with \
                 `cargo build --release -p host --features mpi`, or leave --together out; without it each rank starts when the \
                 scheduler starts it"
            )));
        }
        Ok(Together {})
    }

    /// Waits until all ranks are here.
    pub(crate) fn meet(&self) {
        #[cfg(feature = "mpi")]
        if let Some(universe) = &self.universe {
            use mpi::traits::CommunicatorCollectives as _;
            universe.world().barrier();
        }
    }
}
