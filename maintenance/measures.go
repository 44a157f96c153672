package maintenance

// Measures say how much there is to gain on a table. They come from its manifests; summaries may say anything.
type Measures struct {
	// DeleteFiles are live position delete files and deletion vectors.
	DeleteFiles int `json:"delete_files"`
	// MostDeleteFilesPerDataFile is the largest number of position delete files and deletion vectors that may apply to one
	// data file, by partition, sequence number and referenced data file.
	MostDeleteFilesPerDataFile int `json:"max_delete_files_per_data_file"`
	PuffinFiles                int `json:"puffin_files"`
	// DeleteManifests are those with live entries: engines read every one of them when they plan a scan.
	DeleteManifests int `json:"delete_manifests"`
	// DeletedRowRatio is deleted rows by rows of the data files that deletes may apply to, from 0 to 1.
	DeletedRowRatio float64 `json:"deleted_row_ratio"`
	// DeadPuffinRatio is the bytes of Puffin files that no live deletion vector needs by all of their bytes, from 0 to 1.
	DeadPuffinRatio float64 `json:"dead_puffin_ratio"`
}

// Measure returns the measures of the table that a plan was made for, as it was then.
func (p *Plan) Measure() Measures {
	m := Measures{DeleteFiles: p.Before.PositionDeleteFiles + p.Before.DeletionVectors, PuffinFiles: p.Before.PuffinFiles, DeleteManifests: p.Before.DeleteManifests}
	if p.state == nil {
		return m
	}
	var rows int64
	for _, g := range p.state.SortedGroups() {
		for _, f := range g.Data {
			rows += sane(f.Records)
		}
		for _, b := range burdens(g) {
			m.MostDeleteFilesPerDataFile = max(m.MostDeleteFilesPerDataFile, b.deletes())
		}
	}
	m.DeletedRowRatio = ratio(p.Before.DeletedRows, rows)
	var dead, all int64
	for _, dvs := range p.state.Puffins() {
		dead += deadBytes(dvs)
		all += sane(dvs[0].Size)
	}
	m.DeadPuffinRatio = ratio(dead, all)
	return m
}

func ratio(part, whole int64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
