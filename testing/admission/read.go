package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// document is one YAML document of a file, or why it is none.
type document struct {
	File   string          `json:"file"`
	Object json.RawMessage `json:"object,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func readFiles(files []string, out io.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, d := range documents(file, text) {
			if err := lines.Encode(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// documents splits a file as kubectl does; empty documents are left out.
func documents(file string, text []byte) (found []document) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return append(found, document{File: file, Error: err.Error()})
		}
		object, err := yaml.YAMLToJSON(part)
		switch {
		case err != nil:
			found = append(found, document{File: file, Error: err.Error()})
		case !bytes.Equal(object, []byte("null")):
			found = append(found, document{File: file, Object: object})
		}
	}
}
