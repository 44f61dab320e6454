// What every program of a Go client tells: one line of JSON for each feature.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

var (
	url            = os.Getenv("TOLLGATE_URL")
	token          = os.Getenv("TOLLGATE_TOKEN")
	chatModel      = os.Getenv("CHAT_MODEL")
	geminiModel    = os.Getenv("GEMINI_MODEL")
	memoryModel    = os.Getenv("MEMORY_MODEL")
	imageModel     = os.Getenv("IMAGE_MODEL")
	embeddingModel = os.Getenv("EMBEDDING_MODEL")
	pixel          = os.Getenv("PIXEL_BASE64")
	pixelURL       = "data:image/png;base64," + pixel
	toolRuns       = 0
	questions      = []string{"How is the weather in Oslo?", "And now?"}
)

type facts map[string]any

type city struct {
	City string `json:"city"`
}

var citySchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

func weather(arguments string) string {
	var asked city
	if err := json.Unmarshal([]byte(arguments), &asked); err != nil {
		return err.Error()
	}
	toolRuns++
	return "Rain in " + asked.City + "."
}

func cityOf(text string) (facts, error) {
	var named city
	err := json.Unmarshal([]byte(text), &named)
	return facts{"said": named.City}, err
}

func tell(feature string, told facts) {
	told["feature"] = feature
	line, _ := json.Marshal(told)
	// The feature goes first, so that the line is known by its beginning.
	fmt.Printf("{\"feature\":%q,%s\n", feature, line[1:])
}

func feature(name string, act func() (facts, error)) {
	told, err := act()
	if err != nil {
		told = facts{"error": fmt.Sprintf("%T", err), "text": err.Error()}
	}
	tell(name, told)
}

func absent(names ...string) {
	for _, name := range names {
		tell(name, facts{"absent": true})
	}
}

// The function sends one question with the given token.
func refusals(ask func(token string) (facts, error)) {
	for name, variable := range map[string]string{"401": "BAD_TOKEN", "402": "POOR_TOKEN", "429": "BUSY_TOKEN"} {
		feature(name, func() (facts, error) { return ask(os.Getenv(variable)) })
	}
}
