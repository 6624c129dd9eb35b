"""Columns of a Parquet or Feather file in SQL: their cells, types and values."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bayesppl.cli.files import Dialect, format_of, refuse_given
from bayesppl.cli.text_columns import SurveyedColumn, literally, quoted, without

# Types of DuckDB by what they hold.
_KINDS = {
    "unsigned": "UBIGINT",
    "whole": r"U?(TINY|SMALL|BIG)?INT(EGER)?",
    "long": r"U?HUGEINT|DECIMAL\(\d+,0\)",
    "number": r"FLOAT|DOUBLE|DECIMAL.*",
    "truth": "BOOLEAN",
    "text": r"VARCHAR|ENUM.*|UUID",
}

# Those whose cells may be marked as missing.
_MARKED = ("unsigned", "whole", "long", "number", "text")

# What they are cast to, which DuckDB hands over otherwise as objects.
_CASTS = {"text": "::varchar", "whole": "::bigint"}

_ZONED = "TIME WITH TIME ZONE"


class TypedColumns(NamedTuple):
    """What a Parquet or Feather file holds.

    Attributes
    ----------
    rows : str
        In SQL.
    n_rows : int
    columns : dict of str to SurveyedColumn
    categories : set of str
        Columns that pandas wrote as categories.
    """

    rows: str
    n_rows: int
    columns: dict[str, SurveyedColumn]
    categories: set[str]


def survey(
    connection: Any, path: Path, dialect: Dialect, known: Mapping[str, Collection[str]] | None, folder: Path
) -> TypedColumns:
    """Count the rows of a Parquet or Feather file, and the cells of its columns.

    Parameters
    ----------
    known : mapping of str to collection, optional
        Columns that were text in an earlier fit, and their levels, which are no marks of missing cells.
    folder : path
        Where what DuckDB does not read is copied to.
    """
    from bayesppl.data.lazy import is_unnamed_index

    levels = known or {}
    _require_typed(path, dialect)
    execute, source = connection.execute, _source(connection, path, folder)
    categories, durations = _notes(connection, source)
    rows = f"read_parquet({quoted(source)}, union_by_name = true)"  # or numbers are cut to those of the first
    described = execute(f"select * from {rows} limit 0").description
    types = {name: str(found) for name, found, *_ in described}
    cells = {name: f"c{i}" for i, name in enumerate(types)}
    rows = f"(select * from {rows}) as t({', '.join(cells.values())})"
    kinds = [
        next((kind for kind, known_types in _KINDS.items() if re.fullmatch(known_types, its_type)), "other")
        if name not in durations
        else "other"
        for name, its_type in types.items()
    ]
    written = dict(cells)
    for (name, cell), kind in zip(written.items(), kinds, strict=True):
        if types[name] in ("FLOAT", "DOUBLE"):  # pandas writes NaN as null, others do not
            cells[name] = cell = f"if(isnan({cell}), null, {cell})"
        marks = set(dialect.na_values).difference(levels.get(name, ()))
        if marks and kind in _MARKED:
            cells[name] = without(cell, marks, marks, "try_cast({} as double)".format)
    counts = ["count(*)", *(f"count({cell})" for cell in cells.values())]
    [(n_rows, *found)] = execute(f"select {', '.join(counts)} from {rows}").fetchall()
    for i, ((name, cell), kind) in enumerate(zip(cells.items(), kinds, strict=True)):
        if kind == "long":  # text where 64 bits do not hold all of them, as in a text file
            short = execute(f"select count(try_cast({cell} as bigint)) from {rows}").fetchone()
            long = "text" if known is None or name in levels else "number"
            kinds[i] = "whole" if short == (found[i],) else long
    columns = {
        name: SurveyedColumn(
            kind,
            n_present,
            0,
            cell,
            f"to_seconds({cell} - {cell})" if name in durations else _typed(cell, kind, types[name]),
            _copied(written[name], types[name]),
        )
        for (name, cell), kind, n_present in zip(cells.items(), kinds, found, strict=True)
        if not is_unnamed_index(name)
    }
    return TypedColumns(rows, n_rows, columns, categories)


def _typed(cell: str, kind: str, its_type: str) -> str:
    """Write in SQL the value of a cell, in a type that pandas has."""
    if its_type.startswith(("DATE", "TIMESTAMP")):
        return f"if(isfinite({cell}), {cell}, null)"
    return f"{cell}::time" if its_type == _ZONED else f"{cell}{_CASTS.get(kind, '')}"


def _copied(cell: str, its_type: str) -> str:
    """Write in SQL what a cell is copied as: lists and records as JSON, numbers of more than 15 digits as text.

    Otherwise what is missing in a list would be filled, such numbers rounded, and months counted as 30 days.
    """
    if its_type.endswith("]") or its_type.startswith(("STRUCT", "MAP", "UNION")):
        return f"to_json({cell})::varchar"
    digits = re.fullmatch(r"DECIMAL\((\d+),\d+\)", its_type)
    is_lossy = its_type in ("INTERVAL", _ZONED) or (digits is not None and int(digits[1]) > 15)
    return f"{cell}::varchar" if is_lossy else cell


def _source(connection: Any, path: Path, folder: Path) -> str:
    """Find the Parquet files to read, with the same columns in all of them, and write them as DuckDB does."""
    source = literally(path)
    if format_of(path) == ".feather":
        source = f"{literally(_copied_to_parquet(path, folder))}/*.parquet"
    elif path.is_dir():
        if not any(path.rglob("*.parquet")):
            raise ValueError(f"the folder {str(path)!r} holds no .parquet file")
        source += "/**/*.parquet"
        _require_same_columns(connection, path, source)
    twice = connection.execute(
        f"select min(path_in_schema) from parquet_metadata({quoted(source)}) where row_group_id = 0 "
        "group by file_name, lower(path_in_schema) having count(*) > 1 order by 1 limit 1"
    ).fetchone()
    if twice is not None:  # DuckDB would invent a name for one of them
        raise ValueError(
            f"{str(path)!r} names column {twice[0]!r} twice (capitals do not count); rename one of them"
        )
    return source


def _notes(connection: Any, source: str) -> tuple[set[str], set[str]]:
    """Find the categories of pandas, and the durations, in what pandas and Arrow write beside the columns."""
    metadata = dict(
        connection.execute(
            f"select decode(key) as name, first(value) from parquet_kv_metadata({quoted(source)}) "
            "where name in ('pandas', 'ARROW:schema') group by name"
        ).fetchall()
    )
    columns = json.loads(metadata.get("pandas", "{}")).get("columns", [])
    categories = {column["name"] for column in columns if column["pandas_type"] == "categorical"}
    # whole numbers to all but pandas and Arrow, of nanoseconds or the like
    durations = {column["name"] for column in columns if column["numpy_type"].startswith("timedelta64")}
    return categories, durations | _durations(metadata.get("ARROW:schema", b""))


def _require_same_columns(connection: Any, path: Path, source: str) -> None:
    """Refuse a folder of files one of which lacks a column of the others."""
    named = f"select file_name, name from parquet_schema({quoted(source)}) where duckdb_type is not null"
    found = connection.execute(
        f"with named as ({named}), files as (select distinct file_name from named), "
        "names as (select distinct name from named) "
        "from files, names where (file_name, name) not in (from named) order by all limit 1"
    ).fetchone()
    if found is not None:
        raise ValueError(
            f"{found[0]!r} has no column {found[1]!r}, which other files in {str(path)!r} have; write "
            "all of them with the same columns"
        )


def _copied_to_parquet(path: Path, folder: Path) -> Path:
    """Copy a Feather file, which DuckDB does not read, to a folder of Parquet files."""
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ValueError(
            f"reading .feather files needs pyarrow: install it, or convert {str(path)!r} to CSV"
        ) from None
    try:
        dataset = ds.dataset(path, format="feather")
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not a feather file: {error}") from None
    ds.write_dataset(dataset, folder, format="parquet", use_threads=False)  # threads would mix the rows
    return folder


def _require_typed(path: Path, dialect: Dialect) -> None:
    """Refuse options of text files for a file whose columns have types."""
    refuse_given(
        dialect,
        ("sep", "decimal", "encoding", "thousands"),
        f"text files, and {str(path)!r} is none; leave it out, and store the numbers that are text there as "
        "numbers",
    )


def _durations(schema: bytes) -> set[str]:
    """Find durations in the schema that polars and pyarrow write, where pyarrow is there to read it."""
    try:
        import pyarrow as pa
    except ImportError:
        return set()
    fields = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))) if schema else ()
    return {field.name for field in fields if pa.types.is_duration(field.type)}
