import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Files;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.avro.Avro;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.avro.DataWriter;
import org.apache.iceberg.data.orc.GenericOrcWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.orc.ORC;
import org.apache.iceberg.types.Types;

/**
 * Writes position delete files in Avro and ORC with the Java library: {@code DeleteFiles FOLDER}. The name of a file in
 * FOLDER/java is SHAPE-RECORDS-FILES-WHAT, from which the test that reads it knows its records. What is not read is in
 * FOLDER/refused.
 */
public final class DeleteFiles {
  private static final Types.StructType ROW = Types.StructType.of(
      Types.NestedField.required(1, "id", Types.LongType.get()),
      Types.NestedField.optional(2, "größe", Types.DecimalType.of(9, 2)),
      Types.NestedField.optional(3, "tags", Types.ListType.ofOptional(4, Types.StringType.get())));

  private final File folder;

  private DeleteFiles(File folder) {
    this.folder = folder;
  }

  public static void main(String[] args) throws IOException {
    DeleteFiles d = new DeleteFiles(new File(args[0]));
    new File(d.folder, "java").mkdirs();
    new File(d.folder, "refused").mkdirs();
    d.avro();
    d.orc();
  }

  private void avro() throws IOException {
    for (String codec : new String[] {"uncompressed", "gzip", "snappy", "zstd"}) {
      write(FileFormat.AVRO, "steps-500-3-" + codec, "write.delete.avro.compression-codec", codec);
    }
    write(FileFormat.AVRO, "wide-6000-40-blocks");
    writeRows(FileFormat.AVRO, "run-100-2-row");
    writeNulls(FileFormat.AVRO, "run-2000-3-nulls");
    write(FileFormat.AVRO, "run-0-1-empty");
  }

  private void orc() throws IOException {
    for (String shape : new String[] {"run", "steps", "repeats", "down", "noise", "outliers", "wide", "fall", "rare", "below"}) {
      write(FileFormat.ORC, shape + "-3000-3-shape");
    }
    for (String codec : new String[] {"none", "zlib", "snappy", "lz4", "zstd", "lzo"}) {
      write(FileFormat.ORC, "noise-1000-3-" + codec, "write.delete.orc.compression-codec", codec);
    }
    write(FileFormat.ORC, "noise-30000-5-stripes", "write.delete.orc.stripe-size-bytes", "100000", "orc.rows.between.memory.checks", "5000");
    write(FileFormat.ORC, "noise-8000-7-chunks", "write.delete.orc.block-size-bytes", "65536", "orc.compress.size", "4096");
    write(FileFormat.ORC, "steps-3000-700-dictionary", "orc.dictionary.key.threshold", "1");
    write(FileFormat.ORC, "steps-3000-700-direct", "orc.dictionary.key.threshold", "0");
    for (String shape : new String[] {"steps", "noise", "outliers"}) {
      write(FileFormat.ORC, shape + "-1000-3-old", "orc.write.format", "0.11");
    }
    writeNulls(FileFormat.ORC, "run-2000-3-nulls");
    writeRows(FileFormat.ORC, "run-100-2-row");
    write(FileFormat.ORC, "run-0-1-empty");
  }

  /** The position of record i. */
  private static LongUnaryOperator positions(String shape) {
    return switch (shape) {
      case "run" -> i -> i;
      case "steps" -> i -> 7 * i + i % 3;
      case "repeats" -> i -> i / 25;
      case "down" -> i -> 1_000_000 - 5 * i;
      case "noise" -> i -> (i * 2654435761L) & ((1L << 40) - 1);
      case "outliers" -> i -> i % 100 == 99 ? (1L << 40) + i : (i * 37) % 1000;
      case "fall" -> i -> 10_000_000 - i * i;
      case "rare" -> i -> i % 500 == 400 ? 1L << 30 : (i * 37) % 1000;
      case "below" -> i -> i % 100 == 99 ? 1L << 40 : (i * 37) % 1000 - 5000;
      case "wide" -> i -> (i * 0x9E3779B97F4A7C15L) >>> 1;
      default -> throw new IllegalArgumentException(shape);
    };
  }

  private OutputFile file(FileFormat format, String name) {
    String below = name.endsWith("-lzo") ? "refused" : "java";
    return Files.localOutput(new File(new File(folder, below), name + "." + format.name().toLowerCase()));
  }

  private void write(FileFormat format, String name, String... settings) throws IOException {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < settings.length; i += 2) {
      map.put(settings[i], settings[i + 1]);
    }
    try (PositionDeleteWriter<Record> w = writer(format, file(format, name), map)) {
      PositionDelete<Record> d = PositionDelete.create();
      each(name, (path, pos) -> w.write(d.set(path, pos)));
    }
  }

  private static PositionDeleteWriter<Record> writer(FileFormat format, OutputFile out, Map<String, String> settings) throws IOException {
    PartitionSpec spec = PartitionSpec.unpartitioned();
    if (format == FileFormat.AVRO) {
      return Avro.writeDeletes(out).overwrite().withSpec(spec).setAll(settings).createWriterFunc(DataWriter::create).buildPositionWriter();
    }
    return ORC.writeDeletes(out).overwrite().withSpec(spec).setAll(settings).createWriterFunc(GenericOrcWriter::buildWriter).buildPositionWriter();
  }

  /** The same with the deleted rows, which the delete writers have given up. */
  private void writeRows(FileFormat format, String name) throws IOException {
    Schema schema = new Schema(MetadataColumns.DELETE_FILE_PATH, MetadataColumns.DELETE_FILE_POS, Types.NestedField.optional(2147483544, "row", ROW));
    try (FileAppender<Record> w = appender(format, name, schema)) {
      each(name, (path, pos) -> w.add(GenericRecord.create(schema).copy(Map.of("file_path", path, "pos", pos, "row", row(pos)))));
    }
  }

  /** With records of nulls between the others: some that alternate with others, and many in a row. */
  private void writeNulls(FileFormat format, String name) throws IOException {
    Schema schema = new Schema(MetadataColumns.DELETE_FILE_PATH.asOptional(), MetadataColumns.DELETE_FILE_POS.asOptional());
    try (FileAppender<Record> w = appender(format, name, schema)) {
      each(name, (path, pos) -> {
        Record r = GenericRecord.create(schema);
        r.setField("file_path", pos < 200 && pos % 7 == 3 ? null : path);
        r.setField("pos", pos >= 1500 && pos < 1600 ? null : pos);
        w.add(r);
      });
    }
  }

  private FileAppender<Record> appender(FileFormat format, String name, Schema schema) throws IOException {
    return format == FileFormat.AVRO
        ? Avro.write(file(format, name)).schema(schema).createWriterFunc(DataWriter::create).overwrite().build()
        : ORC.write(file(format, name)).schema(schema).createWriterFunc(GenericOrcWriter::buildWriter).overwrite().build();
  }

  private interface Each {
    void accept(String path, long pos);
  }

  private static void each(String name, Each f) {
    String[] parts = name.split("-");
    LongUnaryOperator position = positions(parts[0]);
    long records = Long.parseLong(parts[1]);
    long files = Long.parseLong(parts[2]);
    for (long i = 0; i < records; i++) {
      f.accept("s3://lake/t/data/" + i * files / records + ".parquet", position.applyAsLong(i));
    }
  }

  private static Record row(long i) {
    Record r = GenericRecord.create(ROW);
    r.setField("id", i);
    r.setField("größe", i % 3 == 0 ? null : BigDecimal.valueOf(i).setScale(2));
    r.setField("tags", i % 2 == 0 ? null : List.of("a", "b" + i));
    return r;
  }
}
