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
pub(super) const DISSECTING_HOPPER: Article = Article {
    title: "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking",
    author: "Weile Luo, Ruibo Fan, Zeyu Li, Dayou Du, Qiang Wang, Xiaowen Chu",
    year: 2024,
    url: "https://arxiv.org/abs/2402.13499",
};

/// Little's law for warps, and how many of them memory takes.
pub(super) const LATENCY_HIDING: Article = Article {
    title: "Understanding Latency Hiding on GPUs",
    author: "Vasily Volkov",
    year: 2016,
    url: "https://www2.eecs.berkeley.edu/Pubs/TechRpts/2016/EECS-2016-143.html",
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

/// Matrix products through tiles, and the memories that a variable can live in.
pub(super) const MASSIVELY_PARALLEL: Article = Article {
    title: "Programming Massively Parallel Processors, third edition, chapter 4: Memory and Data Locality",
    author: "David B. Kirk, Wen-mei W. Hwu",
    year: 2016,
    url: "https://shop.elsevier.com/books/programming-massively-parallel-processors/kirk/978-0-12-811986-0",
};
