from transforms.documents import Piece
from transforms.land import in_order_of_work


def test_large_compressed_files_and_hub_shards_come_first():
    pieces = [
        Piece(0, 0, "jsonl", "plain", 0, 10),
        Piece(1, 0, "compressed_jsonl", "small"),
        Piece(2, 0, "compressed_jsonl", "large"),
        Piece(3, 0, "jsonl", "plain", 10, 20),
        Piece(4, 0, "compressed_jsonl", "larger"),
        Piece(5, 0, "hub", "shard", 0, 1),
    ]
    sizes = {"plain": 10**9, "small": 1000, "large": 10**7, "larger": 10**8}
    assert [piece.number for piece in in_order_of_work(pieces, sizes)] == [4, 2, 5, 0, 1, 3]
