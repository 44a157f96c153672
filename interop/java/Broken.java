import com.fasterxml.jackson.databind.ObjectMapper;
import interop.Lake;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.types.Types;

/**
 * Makes broken tables by commits that the Java library lets through: {@code Broken OUT BARE-BLOB} makes a lake each
 * below OUT, with a damage.json like those of the shared folder. BARE-BLOB is a deletion vector file of DuckDB 1.5.3,
 * which deletes row 1.
 */
public final class Broken {
  private static final Schema SCHEMA = new Schema(
      Types.NestedField.required(1, "id", Types.LongType.get()),
      Types.NestedField.optional(2, "name", Types.StringType.get()));
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();

  private interface Maker {
    Damage make(Table t) throws Exception;
  }

  /** What was done to one data file, and the positions that somebody meant to delete, by data file. */
  private record Damage(String issue, String repair, String note, DataFile file, Map<String, long[]> right) {}

  public static void main(String[] args) throws Exception {
    byte[] blob = Files.readAllBytes(new File(args[1]).toPath());
    PartitionSpec byName = PartitionSpec.builderFor(SCHEMA).identity("name").build();
    make(args[0], "java-two-dvs", byName, 3, Broken::twoVectors);
    make(args[0], "java-incomplete-dv", NONE, 2, Broken::incomplete);
    make(args[0], "duckdb-bare-blob", NONE, 3, t -> bareBlob(t, blob));
  }

  private static void make(String out, String name, PartitionSpec spec, int version, Maker maker) throws Exception {
    File root = new File(out, name);
    try (Lake lake = new Lake(root.getPath())) {
      Table t = lake.catalog.createTable(TableIdentifier.of("db", "t"), SCHEMA, spec, "s3://lake/t", Map.of("format-version", String.valueOf(version)));
      Damage d = maker.make(t);
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("issue", d.issue());
      json.put("repair", d.repair());
      json.put("note", d.note());
      json.put("data_file", d.file().location());
      json.put("right", d.right());
      new ObjectMapper().writeValue(new File(root, "damage.json"), json);
    }
  }

  /** Two writers from one snapshot; the second tells the library to look for conflicts in another partition only. */
  private static Damage twoVectors(Table t) {
    PartitionData x = new PartitionData(t.spec().partitionType());
    x.set(0, "x");
    DataFile a = data(t, x, "a.parquet", 0, 60);
    DataFile b = data(t, x, "b.parquet", 60, 40);
    t.newFastAppend().appendFile(a).appendFile(b).commit();
    t.refresh();
    long base = t.currentSnapshot().snapshotId();
    DeleteFile first = vector(t, a, 1, 2, 30);
    DeleteFile second = vector(t, a, 2, 3, 59);
    t.newRowDelta().validateFromSnapshot(base).addDeletes(first).commit();
    t.newRowDelta().validateFromSnapshot(base).conflictDetectionFilter(Expressions.equal("name", "y")).addDeletes(second).commit();
    return new Damage("dv-duplicate", "fix", "two writers, of which one looks for conflicts elsewhere (apache/iceberg#15966)", a,
        right(a, new long[] {1, 2, 3, 30, 59}, b, new long[0]));
  }

  /** The first deletion vector after an upgrade, by a writer that does not load the position deletes there are. */
  private static Damage incomplete(Table t) {
    DataFile a = data(t, null, "a.parquet", 0, 50);
    DataFile b = data(t, null, "b.parquet", 50, 50);
    t.newFastAppend().appendFile(a).appendFile(b).commit();
    t.newRowDelta().addDeletes(Lake.posDeletes(t, NONE, null, "old.parquet", FileFormat.PARQUET,
        Lake.join(Lake.at(a, 0, 7, 49), Lake.at(b, 5)))).commit();
    t.updateProperties().set("format-version", "3").commit();
    t.refresh();
    t.newRowDelta().addDeletes(vector(t, a, 7, 8)).commit();
    return new Damage("dv-incomplete", "fix", "a deletion vector without the older position deletes", a,
        right(a, new long[] {0, 7, 8, 49}, b, new long[] {5}));
  }

  /** A deletion vector with nothing around it, at offset 0, in the bytes of DuckDB 1.5.3. */
  private static Damage bareBlob(Table t, byte[] blob) throws IOException {
    DataFile a = data(t, null, "a.parquet", 0, 3);
    DataFile b = data(t, null, "b.parquet", 3, 20);
    t.newFastAppend().appendFile(a).appendFile(b).commit();
    t.newRowDelta().addDeletes(vector(t, b, 0, 19)).commit();
    OutputFile out = t.io().newOutputFile(t.locationProvider().newDataLocation("bare.puffin"));
    try (PositionOutputStream stream = out.create()) {
      stream.write(blob);
    }
    t.newRowDelta().addDeletes(FileMetadata.deleteFileBuilder(NONE).ofPositionDeletes().withFormat(FileFormat.PUFFIN)
        .withPath(out.location()).withFileSizeInBytes(blob.length).withReferencedDataFile(a.location())
        .withContentOffset(0).withContentSizeInBytes(blob.length).withRecordCount(1).build()).commit();
    return new Damage("dv-bare-blob", "safe", "the bytes of duckdb-iceberg's legacy_bare_deletion_vector", a,
        right(a, new long[] {1}, b, new long[] {0, 19}));
  }

  private static DataFile data(Table t, PartitionData partition, String name, long from, int n) {
    return Lake.data(t, t.spec(), partition, name, Lake.rows(t.schema(), from, n, id -> Map.of("id", id, "name", partition == null ? "name-" + id : "x")));
  }

  private static DeleteFile vector(Table t, DataFile f, long... positions) {
    return Lake.dvs(t, Map.of(f, positions), path -> null).deleteFiles().get(0);
  }

  private static Map<String, long[]> right(DataFile a, long[] ofA, DataFile b, long[] ofB) {
    return Map.of(a.location(), ofA, b.location(), ofB);
  }
}
