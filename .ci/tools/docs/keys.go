package main

// keys returns the page of labels, annotations and finalizers.
func (s *source) keys() (string, error) {
	page := "# Labels, annotations, finalizers\n\n" +
		"[The reference](../reference.md) has the objects of each key, and the effects of a change.\n\n"
	for _, section := range []struct{ title, prefix string }{
		{"Labels", "Label"}, {"Annotations", "Annotation"}, {"Finalizers", "Finalizer"},
	} {
		found, err := s.constants(section.prefix)
		if err != nil {
			return "", err
		}
		var rows [][]string
		for _, c := range found {
			rows = append(rows, []string{code(c.value), cell(c.meaning)})
		}
		page += "## " + section.title + "\n\n" + table([]string{"key", "meaning"}, rows)
	}
	return page, nil
}
