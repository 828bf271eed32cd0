//! The articles and books that the experiments come from, each written down once.

use report::Article;

/// Offsets and strides, and what three early cards make of them.
pub(super) const GLOBAL_MEMORY: Article = Article {
    title: "How to Access Global Memory Efficiently in CUDA C/C++ Kernels",
    author: "Mark Harris",
    year: 2013,
    url: "https://developer.nvidia.com/blog/how-access-global-memory-efficiently-cuda-c-kernels/",
};

/// Three orders of access over more managed memory than a card has.
pub(super) const OVERSUBSCRIPTION: Article = Article {
    title: "Improving GPU Memory Oversubscription Performance",
    author: "Chirayu Garg",
    year: 2021,
    url: "https://developer.nvidia.com/blog/improving-gpu-memory-oversubscription-performance/",
};

/// The memory model, unified memory, and transposes without shared memory.
pub(super) const CHAPTER_4: Article =
    Article { title: "Professional CUDA C Programming, chapter 4: Global Memory", ..PROFESSIONAL_CUDA };

/// Latencies of each level of memory, as they are measured by pointer chases.
pub(super) const CHASING_HOPPER: Article = Article {
    title: "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking",
    author: "Weile Luo, Ruibo Fan, Zeyu Li, Dayou Du, Qiang Wang, Xiaowen Chu",
    year: 2024,
    url: "https://arxiv.org/abs/2402.13499",
};

/// Latencies and throughput of instructions of a Volta, by chains of each.
pub(super) const DISSECTING_VOLTA: Article = Article {
    title: "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
    author: "Zhe Jia, Marco Maggioni, Benjamin Staiger, Daniele P. Scarpazza",
    year: 2018,
    url: "https://arxiv.org/abs/1804.06826",
};

/// Little's law for warps, and how many of them memory takes.
pub(super) const LATENCY_HIDING: Article = Article {
    title: "Understanding Latency Hiding on GPUs",
    author: "Vasily Volkov",
    year: 2016,
    url: "https://www2.eecs.berkeley.edu/Pubs/TechRpts/2016/EECS-2016-143.html",
};

/// Links between cards: bandwidth and latency of NVLink and PCIe, by pair.
pub(super) const INTERCONNECTS: Article = Article {
    title: "Evaluating Modern GPU Interconnect: PCIe, NVLink, NV-SLI, NVSwitch and GPUDirect",
    author: "Ang Li, Shuaiwen Leon Song, Jieyang Chen, Jiajia Li, Xu Liu, Nathan Tallent, Kevin Barker",
    year: 2019,
    url: "https://arxiv.org/abs/1903.04611",
};

/// Sums over many machines or cards in a ring.
pub(super) const RING: Article = Article {
    title: "Bandwidth optimal all-reduce algorithms for clusters of workstations",
    author: "Pitch Patarasuk, Xin Yuan",
    year: 2009,
    url: "https://doi.org/10.1016/j.jpdc.2008.09.002",
};

/// The memory mountain, of CPUs.
pub(super) const COMPUTER_SYSTEMS: Article = Article {
    title: "Computer Systems: A Programmer's Perspective, third edition, chapter 6: The Memory Hierarchy",
    author: "Randal E. Bryant, David R. O'Hallaron",
    year: 2015,
    url: "https://csapp.cs.cmu.edu/",
};

/// Tiles, stencils, constant memory and shuffles.
pub(super) const CHAPTER_5: Article = Article {
    title: "Professional CUDA C Programming, chapter 5: Shared Memory and Constant Memory",
    ..PROFESSIONAL_CUDA
};

const PROFESSIONAL_CUDA: Article = Article {
    title: "Professional CUDA C Programming",
    author: "John Cheng, Max Grossman, Ty McKercher",
    year: 2014,
    url: "https://www.wiley.com/en-us/Professional+CUDA+C+Programming-p-9781118739327",
};

/// Latencies and throughputs of Hopper's units, the copy engine and distributed shared memory among them.
pub(super) const DISSECTING_HOPPER: Article = Article {
    title: "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level Analysis",
    author: "Weile Luo, Ruibo Fan, Zeyu Li, Dayou Du, Hongyuan Liu, Qiang Wang, Xiaowen Chu",
    year: 2025,
    url: "https://arxiv.org/abs/2501.12084",
};

/// Kernels of several streams that run side by side.
pub(super) const CONCURRENCY: Article = Article {
    title: "GPU Pro Tip: CUDA 7 Streams Simplify Concurrency",
    author: "Mark Harris",
    year: 2015,
    url: "https://developer.nvidia.com/blog/gpu-pro-tip-cuda-7-streams-simplify-concurrency/",
};

/// The time of launches, and graphs that hand over many at once.
pub(super) const LAUNCHES: Article = Article {
    title: "Getting Started with CUDA Graphs",
    author: "Alan Gray",
    year: 2019,
    url: "https://developer.nvidia.com/blog/cuda-graphs/",
};

/// Matrix products through tiles, and the memories that a variable can live in.
pub(super) const MASSIVELY_PARALLEL: Article = Article {
    title: "Programming Massively Parallel Processors, third edition, chapter 4: Memory and Data Locality",
    author: "David B. Kirk, Wen-mei W. Hwu",
    year: 2016,
    url: "https://shop.elsevier.com/books/programming-massively-parallel-processors/kirk/978-0-12-811986-0",
};

/// Atomics that a warp joins into one.
pub(super) const AGGREGATED_ATOMICS: Article = Article {
    title: "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics",
    author: "Andrey Adinetz",
    year: 2014,
    url: "https://developer.nvidia.com/blog/cuda-pro-tip-optimized-filtering-warp-aggregated-atomics/",
};

/// Histograms by atomics of shared memory.
pub(super) const HISTOGRAMS: Article = Article {
    title: "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell",
    author: "Nikolay Sakharnykh",
    year: 2015,
    url: "https://developer.nvidia.com/blog/gpu-pro-tip-fast-histograms-using-shared-atomics-maxwell/",
};

/// Prefix sums in one pass.
pub(super) const LOOK_BACK: Article = Article {
    title: "Single-pass Parallel Prefix Scan with Decoupled Look-back",
    author: "Duane Merrill, Michael Garland",
    year: 2016,
    url: "https://research.nvidia.com/publication/single-pass-parallel-prefix-scan-decoupled-look-back",
};

/// Access by index, in patterns between in order and random.
pub(super) const SPATTER: Article = Article {
    title: "Evaluating Gather and Scatter Performance on CPUs and GPUs",
    author: "Patrick Lavin, Jeffrey Young, Richard Vuduc, Jason Riedy, Aaron Vose, Daniel Ernst",
    year: 2020,
    url: "https://doi.org/10.1145/3422575.3422794",
};
