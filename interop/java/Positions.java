import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import interop.Lake;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;

/**
 * What the Java library reads at the head of main of many lakes: {@code Positions LAKE...} prints {lake: {table:
 * {live_rows, positions: {data file: [deleted positions]}}}}, with {error} for a table that it refuses to read.
 */
public final class Positions {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    ObjectNode out = JSON.createObjectNode();
    for (String root : args) {
      ObjectNode tables = out.putObject(root);
      try (Lake lake = new Lake(root)) {
        for (TableIdentifier id : lake.catalog.listTables(Namespace.of("db"))) {
          tables.set(id.name(), read(lake.catalog.loadTable(id)));
        }
      }
    }
    System.out.println(JSON.writeValueAsString(out));
  }

  private static ObjectNode read(Table t) {
    ObjectNode out = JSON.createObjectNode();
    try {
      out.set("positions", positions(t));
      out.put("live_rows", rows(t));
    } catch (Exception e) {
      out.removeAll();
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      out.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
    }
    return out;
  }

  private static ObjectNode positions(Table t) throws Exception {
    ObjectNode out = JSON.createObjectNode();
    BaseDeleteLoader loader = new BaseDeleteLoader(d -> t.io().newInputFile(d.location()));
    try (CloseableIterable<FileScanTask> tasks = t.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        String path = task.file().location();
        var deletes = task.deletes().stream().filter(d -> d.content() == FileContent.POSITION_DELETES).toList();
        ArrayNode positions = out.putArray(path);
        loader.loadPositionDeletes(deletes, path).forEach(positions::add);
      }
    }
    return out;
  }

  private static long rows(Table t) throws Exception {
    long n = 0;
    try (CloseableIterable<Record> rows = IcebergGenerics.read(t).build()) {
      for (Record ignored : rows) {
        n++;
      }
    }
    return n;
  }
}
