// Search from disk. Browsers start no worker from a file:// address; this one runs the worker's script in a hidden frame
// instead, under the same interface. The site's search asks for it by the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.waiting = [];
      document.body.append(this.frame);
      const inside = this.frame.contentWindow, page = inside.document;
      const load = (from) =>
        new Promise((done, failed) => {
          const script = page.createElement("script");
          script.src = from;
          script.onload = done;
          script.onerror = failed;
          page.body.append(script);
        });
      inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      inside.importScripts = (...all) => all.reduce((before, from) => before.then(() => load(from)), Promise.resolve());
      load(new URL(address, document.baseURI).href).then(() => {
        const waited = this.waiting;
        this.waiting = null;
        waited.forEach((data) => this.postMessage(data));
      });
    }
    postMessage(data) {
      if (this.waiting) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      const message = new inside.MessageEvent("message", { data });
      inside.dispatchEvent(message);
      if (inside.onmessage) inside.onmessage(message);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
