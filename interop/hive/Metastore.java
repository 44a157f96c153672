import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import org.apache.hadoop.hive.metastore.HiveMetaStore;

/**
 * A Hive Metastore for tests: Metastore PORT WAREHOUSE. Its database is in memory and goes with it. It ends with its input,
 * which a test that is killed does not leave open.
 *
 * DataNucleus makes the tables of the database, except for those of locks and transactions, which are made here.
 */
public final class Metastore {
  private static final String DATABASE = "jdbc:derby:memory:metastore;create=true";

  private static final String[] TABLES = {
    "CREATE TABLE HIVE_LOCKS (HL_LOCK_EXT_ID BIGINT NOT NULL, HL_LOCK_INT_ID BIGINT NOT NULL, HL_TXNID BIGINT NOT NULL, HL_DB VARCHAR(128) NOT NULL,"
        + " HL_TABLE VARCHAR(256), HL_PARTITION VARCHAR(767), HL_LOCK_STATE CHAR(1) NOT NULL, HL_LOCK_TYPE CHAR(1) NOT NULL, HL_LAST_HEARTBEAT BIGINT NOT NULL,"
        + " HL_ACQUIRED_AT BIGINT, HL_USER VARCHAR(128) NOT NULL, HL_HOST VARCHAR(128) NOT NULL, HL_HEARTBEAT_COUNT INTEGER, HL_AGENT_INFO VARCHAR(128),"
        + " HL_BLOCKEDBY_EXT_ID BIGINT, HL_BLOCKEDBY_INT_ID BIGINT, PRIMARY KEY (HL_LOCK_EXT_ID, HL_LOCK_INT_ID))",
    "CREATE TABLE NEXT_LOCK_ID (NL_NEXT BIGINT NOT NULL)",
    "INSERT INTO NEXT_LOCK_ID VALUES (1)",
    "CREATE TABLE AUX_TABLE (MT_KEY1 VARCHAR(128) NOT NULL, MT_KEY2 BIGINT NOT NULL, MT_COMMENT VARCHAR(255), PRIMARY KEY (MT_KEY1, MT_KEY2))",
  };

  private Metastore() {}

  public static void main(String[] args) throws Throwable {
    endWithInput();
    try (Connection connection = DriverManager.getConnection(DATABASE);
        Statement statement = connection.createStatement()) {
      for (String sql : TABLES) {
        statement.execute(sql);
      }
    }
    HiveMetaStore.main(
        new String[] {
          "-p", args[0],
          "--hiveconf", "metastore.thrift.bind.host=127.0.0.1",
          "--hiveconf", "metastore.warehouse.dir=file://" + args[1],
          "--hiveconf", "javax.jdo.option.ConnectionURL=" + DATABASE,
          "--hiveconf", "javax.jdo.option.ConnectionDriverName=org.apache.derby.jdbc.EmbeddedDriver",
          "--hiveconf", "datanucleus.schema.autoCreateAll=true",
          "--hiveconf", "metastore.schema.verification=false",
          "--hiveconf", "metastore.task.threads.always=org.apache.hadoop.hive.metastore.events.EventCleanerTask", // the others are of Hive itself
          "--hiveconf", "metastore.expression.proxy=org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
        });
  }

  private static void endWithInput() {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {}
              } catch (IOException e) {
                // that is an end as well
              }
              Runtime.getRuntime().halt(0);
            });
    watch.setDaemon(true);
    watch.start();
  }
}
