"""The layouts in their plainest form: one list, one token after the other."""

PADDING, PROMPT, THOUGHT, ANSWER = 0, 1, 2, 3


def encode(layout, prompt, thoughts, answer, geometry, special):
    """(tokens, regions) as lists, or the reason why there are none."""
    unit = 1 if layout == "flat" else geometry.block
    window = []

    def bracket(tokens, region):
        start = len(window)
        window.extend((token, region) for token in tokens)
        while (len(window) - start) % unit:
            window.append((special.pad, PADDING))

    bracket([special.bos, *prompt, special.think], PROMPT)
    slots = 0
    for thought in thoughts:
        content = [*thought, special.end_of_thought]
        while content:
            if layout == "flat":
                size = len(content)
            elif layout == "slotted":
                size = geometry.block
            else:
                holding = [size for size in geometry.sizes if size >= len(content)]
                size = holding[0] if holding else geometry.sizes[-1]
                window.append((special.sizes[geometry.sizes.index(size)], THOUGHT))
            block, content = content[:size], content[size:]
            block += [special.fill] * (size - len(block))
            window.extend((token, THOUGHT) for token in block)
            slots += 1
    if layout == "slotted" and slots > geometry.max_slots:
        return "too_many_slots"
    bracket([special.end_think, special.answer, *answer, special.eos], ANSWER)
    if len(window) > geometry.seq_len:
        return "too_long"
    window += [(special.pad, PADDING)] * (geometry.seq_len - len(window))
    return [token for token, _ in window], [region for _, region in window]
