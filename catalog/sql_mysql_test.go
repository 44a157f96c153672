package catalog_test

import (
	"strconv"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/mariadb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// MySQL cuts off what does not fit, unless the session asks it not to: then the table would point nowhere.
func TestALocationThatDoesNotFitItsColumnIsRefusedAndNotCutOff(t *testing.T) {
	t.Parallel()
	l := mysqlLabs("--sql-mode=")(t)(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	execute(t, l.db, "ALTER TABLE iceberg_tables MODIFY metadata_location VARCHAR("+strconv.Itoa(len(tbl.MetadataLocation))+")")
	longer := []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"write.metadata.compression-codec": "gzip"})} // .gz is in the name
	err := c.Commit(t.Context(), tbl, []table.Requirement{table.AssertTableUUID(tbl.Metadata.TableUUID())}, longer)
	require.ErrorIs(t, err, catalog.ErrRefused)
	assert.Equal(t, tbl.MetadataLocation, load(t, c, "db", "t").MetadataLocation)
	assert.Equal(t, 1, l.metadataFiles(t))
}

func TestACatalogInATableWithoutTransactionsIsRefused(t *testing.T) {
	t.Parallel()
	l := mysqlLabs()(t)(t)
	execute(t, l.db, "ALTER TABLE iceberg_tables DROP PRIMARY KEY") // too long for some engines
	for _, engine := range []string{"MyISAM", "Aria", "MEMORY"} {
		execute(t, l.db, "ALTER TABLE iceberg_tables ENGINE="+engine+" ROW_FORMAT=DEFAULT")
		_, err := catalog.Open(t.Context(), l.options)
		require.ErrorContains(t, err, "the engine "+engine+", which has no transactions")
	}
	execute(t, l.db, "ALTER TABLE iceberg_tables ENGINE=InnoDB")
	l.open(t)
}

// Two names are one for the collation of the database, but not for Iceberg.
func TestANameInOtherCaseIsNotFoundInMySQL(t *testing.T) {
	t.Parallel()
	l := mysqlLabs()(t)(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	for _, identifier := range [][]string{{"db", "T"}, {"DB", "t"}, {"db", "t "}} {
		_, err := c.Load(t.Context(), identifier)
		assert.ErrorIs(t, err, catalog.ErrNotFound, "%q", identifier)
	}
	l.options.Name = "LAKE"
	found, err := l.open(t).List(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, found)
}

func TestAnAddressOfMySQLThatCannotBeReadIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"mysql://u:geheim@ho st/db", "mysql://u:geheim%@host/db", "mysql://u:geheim@host/db?tls=unheard", "mysql://u:geheim@host:1/db?timeout=soon"} {
		_, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "sql", URI: uri})
		require.ErrorContains(t, err, "uri: ", uri)
		assert.NotContains(t, err.Error(), "geheim")
	}
}

func TestARunSurvivesARestartOfMySQL(t *testing.T) {
	t.Parallel()
	survivesARestart(t, mysqlLabs()(t)(t))
}

func TestARunRecognisesItsCommitWhenTheConnectionToMySQLBreaksAfterIt(t *testing.T) {
	t.Parallel()
	recognisesItsCommit(t, mysqlLabs()(t)(t))
}

func TestACatalogOnMySQLHasItsAddressAndParametersFromItsURI(t *testing.T) {
	t.Parallel()
	server := mariadb.Start(t)
	execute(t, database(t, "mysql", mariadb.DSN(server.Socket, "")), "CREATE DATABASE `a/b`", "CREATE USER 'us/er' IDENTIFIED BY 'p@ss:w/rd?'", "GRANT ALL ON *.* TO 'us/er'")
	execute(t, database(t, "mysql", mariadb.DSN(server.Socket, "a%2Fb")), createTables)
	for uri, refusal := range map[string]string{
		"mysql://us%2Fer:p%40ss%3Aw%2Frd%3F@/a%2Fb?socket=" + server.Socket:                                            "",
		"mariadb://us%2Fer:p%40ss%3Aw%2Frd%3F@localhost/a%2Fb?socket=" + server.Socket + "&time_zone=%27%2B00%3A00%27": "",
		"mysql://us%2Fer:wrong@/a%2Fb?socket=" + server.Socket:                                                         "Access denied",
	} {
		c, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "sql", URI: uri})
		if refusal != "" {
			assert.ErrorContains(t, err, refusal)
			continue
		}
		if assert.NoError(t, err, uri) {
			assert.NoError(t, c.Close())
		}
	}
}
