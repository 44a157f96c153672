package config

// nearest returns the known key that a mistyped one most likely means, or "".
func nearest(key string, known []string) string {
	best, bestDistance := "", 3 // two slips at most
	for _, k := range known {
		if d := distance(key, k); d < bestDistance && d < len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of bytes to insert, remove or replace to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
