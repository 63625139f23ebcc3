from transforms.documents import Piece
from transforms.land import plan_work


def planned(sizes):
    """(path, whether it is to be landed) in the order of work, of compressed files of these MB."""
    pieces = [Piece(k, 0, "compressed_jsonl", path) for k, path in enumerate(sizes)]
    in_bytes = {path: size * 1_000_000 for path, size in sizes.items()}
    return [(piece.path, piece.land) for piece in plan_work(pieces, in_bytes)]


def test_large_files_are_landed_and_come_first():
    assert planned({"a": 20, "b": 65, "c": 900}) == [("c", True), ("b", True), ("a", False)]


def test_a_file_that_is_most_of_the_input_is_landed_though_small():
    assert planned({"a": 16, "b": 3, "c": 1}) == [("a", True), ("b", False), ("c", False)]


def test_many_files_of_a_size_are_not():
    assert not any(land for _, land in planned({str(k): 20 for k in range(17)}))


def test_hub_shards_are_landed_and_what_can_be_read_in_ranges_never_is():
    pieces = [
        Piece(0, 0, "jsonl", "plain", 0, 10**9),
        Piece(1, 0, "parquet", "rows", 0, 5),
        Piece(2, 0, "hub", "shard", 0, 1),
    ]
    found = plan_work(pieces, {"plain": 10**9, "rows": 10**9})
    assert [(piece.number, piece.land) for piece in found] == [(2, True), (0, False), (1, False)]


def test_pieces_are_told_how_much_text_they_hold():
    pieces = [
        Piece(0, 0, "jsonl", "plain", 0, 300),
        Piece(1, 0, "jsonl", "plain", 300, 1000),
        Piece(2, 0, "compressed_jsonl", "packed"),
        Piece(3, 0, "parquet", "rows", 0, 1),
        Piece(4, 0, "parquet", "rows", 1, 4),
    ]
    planned = plan_work(pieces, {"plain": 1000, "packed": 1000, "rows": 1000})
    sizes = [piece.size for piece in sorted(planned, key=lambda piece: piece.number)]
    assert sizes[:2] == [300, 700]
    assert sizes[2] > 1000
    assert sizes[4] == 3 * sizes[3]
