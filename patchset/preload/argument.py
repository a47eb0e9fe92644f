preload_longest_chunk: A[
    bool,
    "Before the server says ready, run one longest prefill chunk and one decode, so that kernels which do not fit on the card fail at start.",
] = False
