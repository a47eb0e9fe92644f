from sglang.srt.entrypoints.preload import watch

watch(self)
