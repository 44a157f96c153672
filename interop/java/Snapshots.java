import interop.Lake;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/**
 * What the Java library reads in every snapshot that a lake's tables still list, by its id: {@code Snapshots ROOT}
 * prints {@code table snapshot-id rows-digest positions-digest} lines. The rows of a table whose data files are only
 * declared are not read ("-").
 */
public final class Snapshots {
  public static void main(String[] args) throws Exception {
    try (Lake lake = new Lake(args[0])) {
      for (TableIdentifier id : lake.catalog.listTables(Namespace.of("db"))) {
        Table table = lake.catalog.loadTable(id);
        for (Snapshot s : table.snapshots()) {
          System.out.println(id.name() + " " + s.snapshotId() + " " + state(table, s.snapshotId()));
        }
      }
    }
  }

  private static String state(Table t, long snapshot) throws Exception {
    List<String> positions = new ArrayList<>();
    boolean declared = false;
    BaseDeleteLoader loader = new BaseDeleteLoader(d -> t.io().newInputFile(d.location()));
    try (CloseableIterable<FileScanTask> tasks = t.newScan().useSnapshot(snapshot).planFiles()) {
      for (FileScanTask task : tasks) {
        String path = task.file().location();
        declared |= !t.io().newInputFile(path).exists();
        var deletes = task.deletes().stream().filter(d -> d.content() == FileContent.POSITION_DELETES).toList();
        StringBuilder runs = new StringBuilder(path);
        long[] run = {-2, -2};
        loader.loadPositionDeletes(deletes, path).forEach(p -> {
          if (p != run[1] + 1) {
            runs.append(' ').append(run[1]).append(' ').append(p);
          }
          run[1] = p;
        });
        positions.add(runs.append(' ').append(run[1]).toString());
      }
    }
    return (declared ? "-" : digest(rows(t, snapshot))) + " " + digest(positions);
  }

  private static List<String> rows(Table t, long snapshot) throws Exception {
    List<String> out = new ArrayList<>();
    try (CloseableIterable<Record> rows = IcebergGenerics.read(t).useSnapshot(snapshot).build()) {
      for (Record r : rows) {
        StringBuilder line = new StringBuilder();
        for (Types.NestedField f : r.struct().fields()) {
          if (!MetadataColumns.isMetadataColumn(f.name())) {
            line.append(f.name()).append('=').append(r.getField(f.name())).append('|');
          }
        }
        out.add(line.toString());
      }
    }
    return out;
  }

  private static String digest(List<String> lines) throws Exception {
    Collections.sort(lines);
    MessageDigest sha = MessageDigest.getInstance("SHA-256");
    for (String line : lines) {
      sha.update((line + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return lines.size() + ":" + HexFormat.of().formatHex(sha.digest(), 0, 12);
  }
}
