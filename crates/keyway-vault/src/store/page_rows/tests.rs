//! Pages that SQLite wrote, whole, cut off and spoiled.

use rusqlite::Connection;

use super::*;

/// Makes a database of some statements, and returns its file.
fn file(sql: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    std::fs::read(path).unwrap()
}

fn of_index(file: &[u8]) -> Vec<Vec<PageValue>> {
    let mut rows = rows_of_pages(file);
    rows.retain(|row| row.tree == Tree::Index);
    rows.into_iter().map(|row| row.values).collect()
}

#[test]
fn integers_of_every_width_text_and_bytes_are_read_as_sqlite_wrote_them() {
    let numbers = [
        0,
        1,
        -1,
        127,
        -128,
        32_767,
        -32_768,
        8_388_607,
        -8_388_608,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        (1 << 47) - 1,
        -(1 << 47),
        i64::MAX,
        i64::MIN,
    ];
    let mut sql = String::from(
        "CREATE TABLE t (k INTEGER NOT NULL, a TEXT, b BLOB, c, PRIMARY KEY (k)) WITHOUT ROWID;",
    );
    for number in numbers {
        sql += &format!("INSERT INTO t VALUES ({number}, 'ä{number}', x'00ff', NULL);");
    }
    let rows = of_index(&file(&sql));
    assert_eq!(rows.len(), numbers.len());
    for number in numbers {
        let expected = vec![
            PageValue::Integer(number),
            PageValue::Text(format!("ä{number}")),
            PageValue::Blob(vec![0, 0xff]),
            PageValue::Null,
        ];
        assert!(rows.contains(&expected), "{number}");
    }
}

/// Lengths around each limit at which SQLite moves a part of the row to other pages, for pages of
/// several sizes.
#[test]
fn rows_of_any_length_are_put_together_again() {
    for page in [512, 1024, 4096, 65_536] {
        let mut sql = format!(
            "PRAGMA page_size = {page};
             CREATE TABLE t (k INTEGER PRIMARY KEY NOT NULL, b BLOB) WITHOUT ROWID;
             CREATE TABLE u (k INTEGER PRIMARY KEY, b BLOB);"
        );
        let lengths: Vec<usize> = (0..90).map(|number| number * page / 30 + number).collect();
        for (number, length) in lengths.iter().enumerate() {
            let blob = format!("zeroblob({length}) || CAST('{number}' AS BLOB)");
            sql += &format!("INSERT INTO t SELECT {number}, CAST({blob} AS BLOB);");
            sql += &format!("INSERT INTO u SELECT {number}, CAST({blob} AS BLOB);");
        }
        let rows = rows_of_pages(&file(&sql));
        for (number, length) in lengths.iter().enumerate() {
            let mut blob = vec![0; *length];
            blob.extend_from_slice(number.to_string().as_bytes());
            let by_key = PageRow {
                tree: Tree::Index,
                values: vec![
                    PageValue::Integer(i64::try_from(number).unwrap()),
                    PageValue::Blob(blob.clone()),
                ],
            };
            let by_number = PageRow {
                tree: Tree::Table,
                values: vec![PageValue::Null, PageValue::Blob(blob)],
            };
            assert!(rows.contains(&by_key), "{page} {length}");
            assert!(rows.contains(&by_number), "{page} {length}");
        }
    }
}

#[test]
fn rows_of_a_tree_with_several_levels_are_found_once_each_without_its_root() {
    let sql = "PRAGMA page_size = 512;
        CREATE TABLE t (k TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO t SELECT printf('key %06d', i * 7919 % 3001) FROM n;";
    let mut file = file(sql);
    assert_eq!(of_index(&file).len(), 3000);
    // The second page is the root of the only table.
    file[512..1024].fill(0);
    let left = of_index(&file).len();
    assert!((2960..3000).contains(&left), "{left}");
}

#[test]
fn what_is_not_a_database_has_no_rows() {
    for bytes in [&b""[..], b"SQLite format 3\0", &[0; 9000], &[0xff; 9000]] {
        assert_eq!(rows_of_pages(bytes), []);
    }
}

/// Every cell of a page may name the same long row: together they are no longer than the file.
#[test]
fn rows_that_overlap_hold_no_more_than_the_file() {
    let mut page = vec![0; 4096];
    page[0] = 0x0a;
    // As many cells as there is room for pointers, all at the same place.
    let (count, start) = (1000_u16, 2100_u16);
    page[3..5].copy_from_slice(&count.to_be_bytes());
    for pointer in page[8..2008].chunks_exact_mut(2) {
        pointer.copy_from_slice(&start.to_be_bytes());
    }
    // 500 bytes: a header of three bytes, and a blob of 497.
    page[2100..2105].copy_from_slice(&[0x83, 0x74, 3, 0x87, 0x6e]);
    let mut file = vec![0; 4096];
    file.extend_from_slice(&page);
    let rows = rows_of_pages(&file);
    assert_eq!(rows.len(), file.len() / 500);
}

/// An overflow page that names itself.
#[test]
fn chain_of_pages_that_goes_in_a_circle_ends() {
    let mut file = vec![0; 3 * 4096];
    file[4096] = 0x0a;
    file[4096 + 4] = 1;
    file[4096 + 8..4096 + 10].copy_from_slice(&2000_u16.to_be_bytes());
    // 12,000 bytes, of which 489 or fewer stand here, and then page 3.
    file[4096 + 2000..4096 + 2002].copy_from_slice(&[0xdd, 0x60]);
    for at in 400..1100 {
        file[4096 + 2000 + at..][..4].copy_from_slice(&3_u32.to_be_bytes());
    }
    file[2 * 4096..][..4].copy_from_slice(&3_u32.to_be_bytes());
    assert!(rows_of_pages(&file).len() <= 1);
}
