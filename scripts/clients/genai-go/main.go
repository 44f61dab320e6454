package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"google.golang.org/genai"
)

func ask(token string, contents []*genai.Content, config *genai.GenerateContentConfig) (*genai.GenerateContentResponse, error) {
	api, err := client(token)
	if err != nil {
		return nil, err
	}
	return api.Models.GenerateContent(context.Background(), geminiModel, contents, config)
}

func client(token string) (*genai.Client, error) {
	return genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      token,
		Backend:     genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
}

func hello(token string) (facts, error) {
	answer, err := ask(token, genai.Text("Say hello."), nil)
	if err != nil {
		return nil, err
	}
	return facts{"said": answer.Text()}, nil
}

func stream() (facts, error) {
	api, err := client(token)
	if err != nil {
		return nil, err
	}
	text, pieces := "", 0
	for piece, err := range api.Models.GenerateContentStream(context.Background(), geminiModel, genai.Text("Say hello."), nil) {
		if err != nil {
			return nil, err
		}
		if piece.Text() != "" {
			text += piece.Text()
			pieces++
		}
	}
	return facts{"said": text, "pieces": pieces}, nil
}

func tools() (facts, error) {
	declared := &genai.FunctionDeclaration{
		Name:                 "weather",
		Description:          "The weather of a city.",
		ParametersJsonSchema: citySchema,
	}
	config := &genai.GenerateContentConfig{
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{declared}}},
	}
	contents := []*genai.Content{}
	text := ""
	for _, question := range questions {
		contents = append(contents, genai.NewContentFromText(question, genai.RoleUser))
		for {
			answer, err := ask(token, contents, config)
			if err != nil {
				return nil, err
			}
			contents = append(contents, answer.Candidates[0].Content)
			parts := []*genai.Part{}
			for _, call := range answer.FunctionCalls() {
				arguments, _ := json.Marshal(call.Args)
				part := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"output": weather(string(arguments))})
				part.FunctionResponse.ID = call.ID
				parts = append(parts, part)
			}
			if len(parts) == 0 {
				text = answer.Text()
				break
			}
			contents = append(contents, genai.NewContentFromParts(parts, genai.RoleUser))
		}
	}
	return facts{"said": text, "calls": toolRuns}, nil
}

func structured() (facts, error) {
	answer, err := ask(token, genai.Text("Name a city."), &genai.GenerateContentConfig{
		ResponseMIMEType:   "application/json",
		ResponseJsonSchema: citySchema,
	})
	if err != nil {
		return nil, err
	}
	return cityOf(answer.Text())
}

func picture() (facts, error) {
	bytes, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		return nil, err
	}
	parts := []*genai.Part{genai.NewPartFromText("What is this?"), genai.NewPartFromBytes(bytes, "image/png")}
	answer, err := ask(token, []*genai.Content{genai.NewContentFromParts(parts, genai.RoleUser)}, nil)
	if err != nil {
		return nil, err
	}
	return facts{"said": answer.Text()}, nil
}

func embedding() (facts, error) {
	api, err := client(token)
	if err != nil {
		return nil, err
	}
	made, err := api.Models.EmbedContent(context.Background(), embeddingModel, genai.Text("hello"), nil)
	if err != nil {
		return nil, err
	}
	return facts{"said": strconv.Itoa(len(made.Embeddings[0].Values))}, nil
}

func main() {
	feature("chat", func() (facts, error) { return hello(token) })
	feature("stream", stream)
	feature("tools", tools)
	feature("structured", structured)
	feature("picture", picture)
	absent("image", "state")
	feature("embedding", embedding)
	refusals(hello)
}
