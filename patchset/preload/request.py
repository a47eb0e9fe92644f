from sglang.srt.entrypoints.preload import send_longest_chunk

send_longest_chunk(url, headers, ssl_verify, model_info)
