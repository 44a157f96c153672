package damage

// shape is what is around a fault.
type shape struct {
	name        string
	version     int  // format version that the table begins with; default 3
	partitioned bool // by region: data files 0 and 1 in one partition, 2 in another
	branch      string
	siblings    bool // the deletion vectors of data files 1 and 2 share the Puffin file of data file 0
	beside      bool // version 2 had position deletes of data files 0 and 2, which the vector of 0 holds
	rows        int64
	positions   []int64 // of data file 0
	objects     bool    // the data files exist
	null        bool    // the partition of data files 0 and 1 is that of null
	upgraded    bool    // to format version 3, after the fault
}

// vectorShapes are those of a fault of a deletion vector.
func vectorShapes() []shape {
	return []shape{
		{name: ""},
		{name: "in a partition and sharing its Puffin file with healthy ones", partitioned: true, siblings: true},
		{name: "on a branch and with positions above 2^32", branch: "audit", rows: 1 << 40, positions: []int64{1, 2, 1<<32 + 4, 1<<40 - 1}},
		{name: "beside position deletes of format version 2", beside: true},
	}
}

// aloneShapes are vectorShapes without siblings in the Puffin file.
func aloneShapes() []shape {
	all := vectorShapes()
	return []shape{all[0], {name: "in a partition", partitioned: true}, all[2], all[3]}
}

// fileShapes are those of a fault of a position delete file.
func fileShapes() []shape {
	return []shape{
		{name: "in format version 2", version: 2},
		{name: "in format version 2, in a partition", version: 2, partitioned: true},
		{name: "in format version 2, on a branch", version: 2, branch: "audit"},
	}
}

// bothShapes are fileShapes, and a table that was upgraded to format version 3 since.
func bothShapes() []shape {
	return append(fileShapes(), shape{name: "in a table that was upgraded", version: 2, upgraded: true})
}

// partShapes are those of a fault of a deletion vector that needs partitions.
func partShapes() []shape {
	return []shape{
		{name: "", partitioned: true},
		{name: "sharing its Puffin file with healthy ones", partitioned: true, siblings: true},
		{name: "on a branch", partitioned: true, branch: "audit"},
		{name: "in the partition of null", partitioned: true, null: true},
	}
}

// oldShapes are those of a table that is upgraded to format version 3 in the middle of the fault.
func oldShapes() []shape {
	return []shape{
		{name: "", version: 2},
		{name: "in a partition", version: 2, partitioned: true},
		{name: "sharing its Puffin file with healthy ones", version: 2, siblings: true},
		{name: "on a branch", version: 2, branch: "audit"},
	}
}

// with changes every shape of a list.
func with(shapes []shape, change func(*shape)) []shape {
	for i := range shapes {
		change(&shapes[i])
	}
	return shapes
}

// single is the plainest shape, for faults to which it makes no difference what is around them.
func single() []shape { return []shape{{}} }
