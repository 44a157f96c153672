import interop.Lake;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.DeleteFileSet;
import org.apache.iceberg.util.UnicodeUtil;

/**
 * {@code TruncatedBounds ROOT TABLE}: puts db.TABLE16 in the place of db.TABLE, with the same files, but with the path
 * bounds of its position delete files cut to 16 characters, as writers with default metrics settings leave them.
 */
public final class TruncatedBounds {
  private static final int PATH = MetadataColumns.DELETE_FILE_PATH.fieldId();

  public static void main(String[] args) throws Exception {
    try (Lake lake = new Lake(args[0])) {
      TableIdentifier from = TableIdentifier.of("db", args[1]);
      Table t = lake.catalog.loadTable(from);
      Table cut = lake.catalog.createTable(TableIdentifier.of("db", args[1] + "16"), t.schema(), t.spec(), "s3://lake/" + args[1] + "16",
          Map.of(TableProperties.FORMAT_VERSION, "2"));
      AppendFiles append = cut.newFastAppend();
      DeleteFileSet deletes = DeleteFileSet.create();
      try (CloseableIterable<FileScanTask> tasks = t.newScan().includeColumnStats().planFiles()) {
        for (FileScanTask task : tasks) {
          append.appendFile(task.file());
          deletes.addAll(task.deletes());
        }
      }
      append.commit();
      RowDelta delta = cut.newRowDelta();
      deletes.forEach(d -> delta.addDeletes(truncated(cut, d)));
      delta.commit();
      lake.catalog.dropTable(from, false);
    }
  }

  private static DeleteFile truncated(Table t, DeleteFile d) {
    Map<Integer, ByteBuffer> lower = new HashMap<>(d.lowerBounds());
    Map<Integer, ByteBuffer> upper = new HashMap<>(d.upperBounds());
    lower.computeIfPresent(PATH, (k, v) -> bytes(UnicodeUtil.truncateStringMin(string(v), 16)));
    upper.computeIfPresent(PATH, (k, v) -> bytes(UnicodeUtil.truncateStringMax(string(v), 16)));
    return FileMetadata.deleteFileBuilder(t.spec()).ofPositionDeletes().withPath(d.location()).withFormat(d.format())
        .withFileSizeInBytes(d.fileSizeInBytes()).withSplitOffsets(d.splitOffsets())
        .withMetrics(new Metrics(d.recordCount(), d.columnSizes(), d.valueCounts(), d.nullValueCounts(), d.nanValueCounts(), lower, upper))
        .build();
  }

  private static String string(ByteBuffer value) {
    return Conversions.fromByteBuffer(Types.StringType.get(), value).toString();
  }

  private static ByteBuffer bytes(String value) {
    return Conversions.toByteBuffer(Types.StringType.get(), value);
  }
}
