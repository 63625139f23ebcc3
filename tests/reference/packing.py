"""The packer in its plainest form: one list, one token after the other."""


def pack(docs: list[list[int]], seq_len: int, bos: int, eos: int, pad: int) -> list[list[int]]:
    stream: list[int] = []
    for ids in docs:
        chunks = [ids[i : i + seq_len - 2] for i in range(0, len(ids), seq_len - 2)] or [[]]
        for chunk in chunks:
            stream += [bos, *chunk, eos]
    while len(stream) % seq_len:
        stream.append(pad)
    return [stream[i : i + seq_len] for i in range(0, len(stream), seq_len)]
